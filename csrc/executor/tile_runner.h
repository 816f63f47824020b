// One thread's way through the tiles of a loop.
#pragma once
#include <algorithm>
#include <array>
#include <utility>

#include "executor/loop_program.h"
#include "tensor/element_walk.h"
#include "tensor/storage.h"

namespace md {

// One thread's view of a run: register addresses for the tile at hand.
class TileRunner {
  using Addresses = std::array<std::byte*, kMaxLoopRegisters>;

 public:
  TileRunner(const LoopProgram& program, const Addresses& bases) : program_(program), bases_(bases) {
    if (program.scratch_bytes > kScratchBytes) {
      large_ = Storage::allocate(static_cast<size_t>(program.scratch_bytes));
      scratch_ = static_cast<std::byte*>(large_->data());
    }
    for_each_stream([](const Stream&, int64_t& start) { start = 0; });
    for (auto [reg, offset] : program.scratch) at_[static_cast<size_t>(reg)] = scratch_ + offset;
    for (const LoopScalar& scalar : program.scalars) at_[static_cast<size_t>(scalar.reg)] = base(scalar.reg);
    if (program.tile >= program.row_length && program.sizes.size() > 1) find_row_steps();
  }

  // Whole rows, which are tiles.
  void run_rows(int64_t begin, int64_t end) {
    while (begin < end) {
      run_tile(begin++, 0, program_.row_length);
      if (!steps_are_known_) continue;
      size_t d = program_.sizes.size() - 2;
      int64_t alike = std::min(program_.sizes[d] - index_[d] - 1, end - begin);
      begin += alike;
      if (takes_pairs()) run_pairs(alike);
      choose_head(alike);
      if (fetch_count_ < 0) choose_fetches();
      while (alike-- > 0) run_next_row();
    }
  }

  // Of a loop that chooses rows: n columns of whole rows, no stream of which is copied.
  void run_chosen_rows(int64_t begin, int64_t end, int64_t column, int64_t n,
                       const std::array<const int64_t*, kMaxRowChoices>& indices) {
    row_step_count_ = chosen_count_ = repeated_count_ = 0;
    for (const Stream& stream : program_.inputs) start_rows(stream, begin, column, n, indices);
    for (const Stream& stream : program_.outputs) start_rows(stream, begin, column, 0, indices);
    for (const RowLoop& loop : program_.row_loops)
      if (loop.elements == n) return run_row_loop(loop, begin, end);
    run_found_rows(begin, end, n);
  }

  void run_tile(int64_t row, int64_t column, int64_t n) {
    move_to(row);
    const int64_t* start = row_start_.data();
    for (const Stream& stream : program_.inputs) place_input(stream, *start++, row, column, n);
    if (program_.fetches_ahead) fetch_next_row(n);
    const int64_t* output_start = start;
    for (const Stream& stream : program_.outputs) place_output(stream, *start++, row, column);
    for (const LoopInstruction& instruction : program_.code) execute(instruction, n);
    for (const Stream& stream : program_.outputs) store_output(stream, *output_start++, row, column, n);
  }

 private:
  static constexpr int64_t kCacheLine = 64;
  // How far to ask ahead, and what the caches hold: from the third level short rows come fast enough by themselves.
  static constexpr int64_t kBytesAhead = 4 * 1024, kBytesWorthFetching = 12 * 1024 * 1024;
  // What a core's second level keeps of what has been read.
  static constexpr uintptr_t kBytesKept = 256 * 1024;
  // Of how many rows it pays to look.
  static constexpr int64_t kRowsWorthAligning = 8;

  std::byte* base(int reg) const { return bases_[static_cast<size_t>(reg)]; }

  // From each row to the next one the streams move by the same, if nothing is copied. Those that follow others need not
  // where all is machine code; they come last.
  void find_row_steps() {
    steps_are_known_ = true;
    bool is_code = std::all_of(program_.code.begin(), program_.code.end(),
                               [](const LoopInstruction& instruction) { return instruction.code != nullptr; });
    for (bool follow : {false, true}) {
      for (const auto* streams : {&program_.inputs, &program_.outputs}) {
        for (const Stream& stream : *streams) {
          if ((is_code && stream.follows) == follow) add_row_step(stream, streams == &program_.outputs);
        }
      }
      if (!follow) row_step_count_ = known_step_count_;
    }
  }
  void add_row_step(const Stream& stream, bool is_written) {
    if (is_copied(stream)) steps_are_known_ = false;
    int64_t elements = stream.access == StreamAccess::Linear ? program_.row_length : stream.strides.end()[-2];
    int64_t element = stream.access == StreamAccess::RowScalar ? 0 : stream.item_size;
    row_steps_[known_step_count_++] = {stream.reg, elements * stream.item_size, element, is_written};
  }

  struct RowStep {
    int reg;
    int64_t bytes;
    int64_t element_bytes;  // 0: one element for the row
    bool is_written;
  };

  struct ChosenStream {
    int reg;
    int64_t row_bytes, fetched_bytes;
    std::byte* base;
    const int64_t* index;
    int64_t repeat, extent;
    std::byte* at(int64_t row) const {
      int64_t place = index == nullptr ? row / repeat : index[row] + (index[row] < 0 ? extent : 0);
      return base + place * row_bytes;
    }
  };

  // n: elements to ask for ahead.
  void start_rows(const Stream& stream, int64_t row, int64_t column, int64_t n,
                  const std::array<const int64_t*, kMaxRowChoices>& indices) {
    std::byte* first = base(stream.reg) + column * stream.strides.back() * stream.item_size;
    int64_t row_bytes = stream.strides.front() * stream.item_size;
    if (stream.access != StreamAccess::Chosen) {
      at_[static_cast<size_t>(stream.reg)] = first + row * row_bytes;
      row_steps_[row_step_count_++] = {stream.reg, row_bytes, stream.item_size, false};
      return;
    }
    const RowChoice& choice = program_.choices[static_cast<size_t>(stream.choice)];
    const int64_t* index = indices[static_cast<size_t>(stream.choice)];
    for (size_t i = 0; i < chosen_count_; ++i) {
      const ChosenStream& other = chosen_[i];
      if (other.base != first || other.index != index || other.row_bytes != row_bytes || other.repeat != choice.repeat)
        continue;
      repeated_[repeated_count_++] = {stream.reg, other.reg};
      return;
    }
    constexpr int64_t kMostFetched = 1024;
    chosen_[chosen_count_++] = {.reg = stream.reg,
                                .row_bytes = row_bytes,
                                .fetched_bytes = std::min(n * stream.item_size, kMostFetched),
                                .base = first,
                                .index = index,
                                .repeat = choice.repeat,
                                .extent = choice.extent};
  }

  // Each row's places are found, and asked for, some rows before.
  void run_found_rows(int64_t begin, int64_t end, int64_t n) {
    std::array<std::array<std::byte*, kMaxRowChoices + 1>, kRowsAhead> found;
    auto find = [&](int64_t row) {
      for (size_t i = 0; i < chosen_count_; ++i) {
        std::byte* place = chosen_[i].at(row);
        found[static_cast<size_t>(row) % kRowsAhead][i] = place;
        fetch(place, chosen_[i].fetched_bytes);
      }
    };
    for (int64_t row = begin; row < std::min(begin + kRowsAhead, end); ++row) find(row);
    for (int64_t row = begin; row < end; ++row) {
      for (size_t i = 0; i < chosen_count_; ++i)
        at_[static_cast<size_t>(chosen_[i].reg)] = found[static_cast<size_t>(row) % kRowsAhead][i];
      for (size_t i = 0; i < repeated_count_; ++i)
        at_[static_cast<size_t>(repeated_[i].reg)] = at_[static_cast<size_t>(repeated_[i].of)];
      if (row + kRowsAhead < end) find(row + kRowsAhead);
      for (const LoopInstruction& instruction : program_.code) execute(instruction, n);
      for (size_t i = 0; i < row_step_count_; ++i) at_[static_cast<size_t>(row_steps_[i].reg)] += row_steps_[i].bytes;
    }
  }

  // The addresses of some rows are found first; the loop over them is machine code.
  void run_row_loop(const RowLoop& loop, int64_t begin, int64_t end) {
    constexpr int64_t kRows = 64;
    std::array<std::byte*, (kRows + kRowsAhead) * kMaxRowLoopRegisters> places;
    int64_t stride = program_.register_count;
    auto fill = [&](int reg, int64_t from, int64_t to, auto&& place) {
      std::byte** into = places.data() + from * stride + reg;
      for (int64_t i = from; i < to; ++i, into += stride) *into = place(i);
    };
    for (const LoopScalar& scalar : program_.scalars)
      fill(scalar.reg, 0, kRows, [&](int64_t) { return base(scalar.reg); });
    for (int64_t row = begin, rows; row < end; row += rows) {
      rows = std::min(end - row, kRows);
      for (size_t i = 0; i < chosen_count_; ++i) {
        const ChosenStream chosen = chosen_[i];
        int64_t count = std::min(rows + kRowsAhead, end - row);
        fill(chosen.reg, 0, count, [&](int64_t at) { return chosen.at(row + at); });
        fill(chosen.reg, count, rows + kRowsAhead, [&](int64_t) { return chosen.base; });
        if (row > begin) continue;
        for (int64_t at = 0; at < std::min<int64_t>(kRowsAhead, count); ++at)
          fetch(chosen.at(row + at), chosen.fetched_bytes);
      }
      for (size_t i = 0; i < repeated_count_; ++i)
        fill(repeated_[i].reg, 0, rows + kRowsAhead,
             [&](int64_t at) { return places[static_cast<size_t>(at * stride + repeated_[i].of)]; });
      for (size_t i = 0; i < row_step_count_; ++i) {
        std::byte*& at = at_[static_cast<size_t>(row_steps_[i].reg)];
        fill(row_steps_[i].reg, 0, rows,
             [from = at, bytes = row_steps_[i].bytes](int64_t later) { return from + later * bytes; });
        at += rows * row_steps_[i].bytes;
      }
      loop.code(places.data(), rows);
    }
  }

  template <bool is_written = false>
  static void fetch(const std::byte* from, int64_t bytes) {
    for (int64_t at = 0; at < bytes; at += kCacheLine) __builtin_prefetch(from + at, is_written);
  }

  void run_next_row() {
    for (size_t i = 0; i < row_step_count_; ++i) at_[static_cast<size_t>(row_steps_[i].reg)] += row_steps_[i].bytes;
    if (program_.fetches_ahead) fetch_next_row(program_.row_length);
    for (int i = 0; i < fetch_count_; ++i) fetch_later_row(fetches_[static_cast<size_t>(i)]);
    for (const LoopInstruction& instruction : program_.code) execute(instruction, program_.row_length, at_, head_);
  }

  // What a fold leaves is there only long after its last element is read: two rows in turn wait for each other's less.
  bool takes_pairs() const {
    constexpr int64_t kPairBytes = 24 * 1024;  // of the first cache level
    int64_t bytes = 2 * program_.scratch_bytes;
    // Rows that come from memory are better waited for one by one.
    if (!folds() || program_.fetches_ahead || 2 * padded_scratch_bytes() > kScratchBytes) return false;
    for (size_t i = 0; i < row_step_count_; ++i)
      bytes += (row_steps_[i].bytes == 0 ? 1 : 2) * row_steps_[i].element_bytes * program_.row_length;
    return bytes <= kPairBytes;
  }
  bool folds() const {
    return std::any_of(program_.code.begin(), program_.code.end(),
                       [](const LoopInstruction& instruction) { return instruction.fold.run != nullptr; });
  }
  int64_t padded_scratch_bytes() const { return (program_.scratch_bytes + kCacheLine - 1) / kCacheLine * kCacheLine; }

  // Takes what it does from `rows`, which come after the row at hand.
  void run_pairs(int64_t& rows) {
    for (auto [reg, offset] : program_.scratch)
      beside_[static_cast<size_t>(reg)] = scratch_ + padded_scratch_bytes() + offset;
    for (const LoopScalar& scalar : program_.scalars) beside_[static_cast<size_t>(scalar.reg)] = base(scalar.reg);
    for (; rows >= 2; rows -= 2) {
      for (size_t i = 0; i < row_step_count_; ++i) {
        std::byte*& at = at_[static_cast<size_t>(row_steps_[i].reg)];
        at += row_steps_[i].bytes;
        beside_[static_cast<size_t>(row_steps_[i].reg)] = at + row_steps_[i].bytes;
      }
      for (const LoopInstruction& instruction : program_.code) {
        execute(instruction, program_.row_length, at_);
        execute(instruction, program_.row_length, beside_);
      }
      for (size_t i = 0; i < row_step_count_; ++i)
        at_[static_cast<size_t>(row_steps_[i].reg)] = beside_[static_cast<size_t>(row_steps_[i].reg)];
    }
  }

  // So many elements of each row come first that most streams go on where a vector starts that crosses the end of no cache
  // line: one that does is two accesses. Streams differ, as those of a stencil do.
  void choose_head(int64_t rows) {
    head_ = 0;
    if (rows < kRowsWorthAligning || program_.code.size() != 1 || program_.code[0].code == nullptr) return;
    std::array<int64_t, kCacheLine> streams = {};  // by elements to the start of such a vector
    const int64_t vector = code_vector_bytes();
    int64_t item = 0;
    for (size_t i = 0; i < known_step_count_; ++i) item = std::max(item, row_steps_[i].element_bytes);
    if (item == 0) return;
    for (size_t i = 0; i < known_step_count_; ++i) {
      auto address = reinterpret_cast<uintptr_t>(at_[static_cast<size_t>(row_steps_[i].reg)]);
      bool stays = row_steps_[i].element_bytes == item && row_steps_[i].bytes % kCacheLine == 0;
      int64_t before = static_cast<int64_t>(-address % static_cast<uintptr_t>(vector));
      if (stays && before % item == 0) ++streams[static_cast<size_t>(before / item)];
    }
    int64_t best = std::max_element(streams.begin(), streams.end()) - streams.begin();
    int64_t saved = (streams[static_cast<size_t>(best)] - streams[0]) * (program_.row_length * item / kCacheLine);
    if (saved >= 2 * static_cast<int64_t>(known_step_count_)) head_ = best;
  }

  // What a processor asks for by itself ends with a page, which is a few short rows. Asked for are the streams that others do
  // not go ahead of: of a stencil the part that is new, and what is written.
  void choose_fetches() {
    fetch_count_ = 0;
    if (program_.fetches_ahead || folds()) return;
    int64_t bytes = 0;
    for (size_t i = 0; i < known_step_count_; ++i) {
      const RowStep& step = row_steps_[i];
      int64_t length = step.element_bytes * program_.row_length;
      const RowStep* leader = leader_of(step);
      if (leader == nullptr || length < kCacheLine || step.bytes < length || step.bytes > kBytesAhead ||
          has_one_ahead(step))
        continue;
      int64_t rows = std::clamp<int64_t>(kBytesAhead / step.bytes, 1, kRowsAhead);
      int64_t beside = at_[static_cast<size_t>(step.reg)] - at_[static_cast<size_t>(leader->reg)];
      fetches_[static_cast<size_t>(fetch_count_++)] = {leader->reg, step.is_written, beside + rows * step.bytes,
                                                       length};
      bytes += program_.rows * step.bytes;
    }
    if (bytes < kBytesWorthFetching) fetch_count_ = 0;
  }
  // Where this stream is can be told from one whose address is kept.
  const RowStep* leader_of(const RowStep& step) const {
    if (&step < &row_steps_[row_step_count_]) return &step;
    const RowStep* end = row_steps_.data() + row_step_count_;
    const RowStep* found =
        std::find_if(row_steps_.data(), end, [&](const RowStep& other) { return other.bytes == step.bytes; });
    return found == end ? nullptr : found;
  }
  bool has_one_ahead(const RowStep& step) const {
    auto address = [this](const RowStep& of) { return reinterpret_cast<uintptr_t>(at_[static_cast<size_t>(of.reg)]); };
    return std::any_of(row_steps_.begin(), row_steps_.begin() + known_step_count_, [&](const RowStep& other) {
      uintptr_t distance = address(other) - address(step);
      return other.bytes == step.bytes && distance > 0 && distance <= kBytesKept;
    });
  }

  struct Fetch {
    int reg;
    bool is_written;
    int64_t ahead, length;
  };
  void fetch_later_row(const Fetch& later) const {
    const std::byte* row = at_[static_cast<size_t>(later.reg)] + later.ahead;
    later.is_written ? fetch<true>(row, later.length) : fetch(row, later.length);
  }

  void execute(const LoopInstruction& instruction, int64_t n) { execute(instruction, n, at_); }
  // Machine code takes so many elements at the head by themselves.
  void execute(const LoopInstruction& instruction, int64_t n, const Addresses& at, int64_t head = 0) const {
    if (instruction.code != nullptr) return instruction.code(at.data(), n, head);
    void* dst = at[static_cast<size_t>(instruction.dst)];
    if (instruction.fold.run != nullptr)
      return instruction.fold.run(at[static_cast<size_t>(instruction.src[0])], n, dst, instruction.fold.param);
    if (instruction.is_single) n = 1;
    if (instruction.convert != nullptr) return instruction.convert(at[static_cast<size_t>(instruction.src[0])], dst, n);
    const void* src[3];
    for (int i = 0; i < 3; ++i) src[i] = instruction.src[i] < 0 ? nullptr : at[static_cast<size_t>(instruction.src[i])];
    const Scalar* params = instruction.params < 0 ? nullptr : &program_.params[static_cast<size_t>(instruction.params)];
    instruction.loop(src, dst, n, params);
  }

  template <typename F>
  void for_each_stream(F&& f) {
    size_t i = 0;
    for (const Stream& stream : program_.inputs) f(stream, row_start_[i++]);
    for (const Stream& stream : program_.outputs) f(stream, row_start_[i++]);
  }

  // The elements where the row starts: by counting on from the row before, where that was the last one.
  void move_to(int64_t row) {
    if (row == row_ || program_.sizes.size() < 2) return;
    if (row == row_ + 1) {
      count_on();
    } else {
      for_each_stream([&](const Stream& stream, int64_t& start) { start = row_offset(stream, row); });
      int64_t rest = row;
      for (size_t d = program_.sizes.size() - 1; d-- > 0; rest /= program_.sizes[d])
        index_[d] = rest % program_.sizes[d];
    }
    row_ = row;
  }

  void count_on() {
    size_t d = program_.sizes.size() - 2;
    for (; d > 0 && index_[d] + 1 == program_.sizes[d]; --d) {
      int64_t from = std::exchange(index_[d], 0);
      for_each_stream([&](const Stream& stream, int64_t& start) { start -= from * stream.strides[d]; });
    }
    ++index_[d];
    for_each_stream([&](const Stream& stream, int64_t& start) { start += stream.strides[d]; });
  }

  int64_t row_offset(const Stream& stream, int64_t row) const {
    int64_t offset = 0;
    for (size_t d = program_.sizes.size() - 1; d-- > 0;) {
      offset += row % program_.sizes[d] * stream.strides[d];
      row /= program_.sizes[d];
    }
    return offset;
  }

  std::byte* element(const Stream& stream, int64_t start, int64_t row, int64_t column) const {
    int64_t offset = stream.access == StreamAccess::Linear ? row * program_.row_length + column
                                                           : start + column * stream.strides.back();
    return base(stream.reg) + offset * stream.item_size;
  }

  void place_input(const Stream& stream, int64_t start, int64_t row, int64_t column, int64_t n) {
    std::byte*& at = at_[static_cast<size_t>(stream.reg)];
    switch (stream.access) {
      case StreamAccess::Chosen:
      case StreamAccess::Linear:
      case StreamAccess::RowLinear:
      case StreamAccess::RowScalar:
        at = element(stream, start, row, column);
        return;
      case StreamAccess::Strided:
        at = tile_of(stream);
        return copy_items(stream.item_size, element(stream, start, row, column), byte_step(stream), at,
                          stream.item_size, n);
      case StreamAccess::Walked:
        at = tile_of(stream);
        return walk<true>(stream, column, n, at);
    }
  }

  // Folding a row takes longer than reading the next one.
  void fetch_next_row(int64_t n) {
    for (const Stream& stream : program_.inputs) {
      if (stream.access != StreamAccess::Linear) continue;
      fetch(at_[static_cast<size_t>(stream.reg)] + n * stream.item_size, n * stream.item_size);
    }
  }

  void place_output(const Stream& stream, int64_t start, int64_t row, int64_t column) {
    bool in_place = stream.access != StreamAccess::Strided && stream.access != StreamAccess::Walked;
    at_[static_cast<size_t>(stream.reg)] = in_place ? element(stream, start, row, column) : tile_of(stream);
  }

  void store_output(const Stream& stream, int64_t start, int64_t row, int64_t column, int64_t n) {
    if (stream.access == StreamAccess::Strided) {
      copy_items(stream.item_size, tile_of(stream), stream.item_size, element(stream, start, row, column),
                 byte_step(stream), n);
    } else if (stream.access == StreamAccess::Walked) {
      walk<false>(stream, column, n, tile_of(stream));
    }
  }

  // From one element of the last dimension to the next.
  static int64_t byte_step(const Stream& stream) { return stream.strides.back() * stream.item_size; }

  std::byte* tile_of(const Stream& stream) { return scratch_ + stream.tile_offset; }

  // Between n elements from position `start` of the iteration on and a tile, run by run along the last dimension.
  template <bool load>
  void walk(const Stream& stream, int64_t start, int64_t n, std::byte* tile) {
    int rank = static_cast<int>(program_.sizes.size());
    std::array<int64_t, kMaxLoopRank> index;
    int64_t rest = start, offset = 0;
    for (int d = rank - 1; d >= 0; --d) {
      index[static_cast<size_t>(d)] = rest % program_.sizes[static_cast<size_t>(d)];
      rest /= program_.sizes[static_cast<size_t>(d)];
      offset += index[static_cast<size_t>(d)] * stream.strides[static_cast<size_t>(d)];
    }
    size_t last = static_cast<size_t>(rank - 1);
    while (n > 0) {
      int64_t run = std::min(n, program_.sizes[last] - index[last]);
      std::byte* outside = base(stream.reg) + offset * stream.item_size;
      if constexpr (load) {
        copy_items(stream.item_size, outside, byte_step(stream), tile, stream.item_size, run);
      } else {
        copy_items(stream.item_size, tile, stream.item_size, outside, byte_step(stream), run);
      }
      tile += run * stream.item_size;
      n -= run;
      index[last] += run;
      offset += run * stream.strides[last];
      for (size_t d = last; d > 0 && index[d] == program_.sizes[d]; --d) {
        offset += stream.strides[d - 1] - index[d] * stream.strides[d];
        index[d] = 0;
        ++index[d - 1];
      }
    }
  }

  const LoopProgram& program_;
  const Addresses& bases_;
  Addresses at_;
  Addresses beside_;  // of a second row
  // By stream, inputs first: where the row at hand starts, in elements; 0 where there is one row.
  std::array<int64_t, kMaxLoopRegisters> row_start_;
  std::array<int64_t, kMaxLoopRank> index_ = {};
  int64_t row_ = 0;
  // By stream. A runner is made for each few rows: what is large here is not set before it is used.
  std::array<RowStep, kMaxLoopRegisters> row_steps_;
  size_t row_step_count_ = 0, known_step_count_ = 0;  // that are taken; and with those that follow others
  int64_t head_ = 0;
  std::array<Fetch, kMaxLoopRegisters> fetches_;
  int fetch_count_ = -1;  // not yet chosen
  bool steps_are_known_ = false;
  // A choice is of one stream, but for the sums: these are read and written.
  std::array<ChosenStream, kMaxRowChoices + 1> chosen_;
  struct RepeatedStream {
    int reg, of;  // at the same address
  };
  std::array<RepeatedStream, kMaxRowChoices + 1> repeated_;
  size_t chosen_count_ = 0, repeated_count_ = 0;
  alignas(64) std::byte small_[kScratchBytes];
  StoragePtr large_;
  std::byte* scratch_ = small_;
};

}  // namespace md
