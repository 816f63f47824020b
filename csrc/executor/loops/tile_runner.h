// Runs one thread's tiles of a loop.
#pragma once
#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "executor/loops/row_fetches.h"
#include "tensor/simd/element_walk.h"
#include "tensor/simd/loop_table.h"
#include "tensor/simd/row_panel.h"

namespace md {

class TileRunner {
 public:
  // For rows before `end`, from the first to the last; 0: for blocks of them.
  TileRunner(const LoopProgram& program, const LoopAddresses& bases, int64_t end)
      : program_(program), at_(program, bases), end_(end) {
    for_each_stream([](const Stream&, int64_t& start) { start = 0; });
    choose_panels();
    choose_together();
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
      if (!fetches_.are_chosen()) choose_fetches();
      bool fetches = program_.fetches_ahead || !fetches_.are_none();
      if (!fetches && is_one_code()) {
        run_rows_alike(alike, program_.code[0].code);
      } else if (!fetches && is_one_loop()) {
        run_rows_alike(alike, program_.code[0]);
      } else {
        while (alike-- > 0) run_next_row();
      }
    }
  }

  void run_tile(int64_t row, int64_t column, int64_t n) {
    move_to(row);
    if (together_count_ > 0 && !folds()) {
      int64_t most = elements_together(program_.inputs[together_[0]].item_size, together_count_);
      for (; n > most; n -= most, column += most) run_part(row, column, most);
    }
    run_part(row, column, n);
  }

 private:
  void run_part(int64_t row, int64_t column, int64_t n) {
    const int64_t* start = row_start_.data();
    if (together_count_ > 0) place_together(row, column, n);
    for (const Stream& stream : program_.inputs) place_input(stream, *start++, row, column, n);
    if (program_.fetches_ahead) fetch_next_row(n);
    const int64_t* output_start = start;
    for (const Stream& stream : program_.outputs) place_output(stream, *start++, row, column);
    at_.execute(n);
    for (const Stream& stream : program_.outputs) store_output(stream, *output_start++, row, column, n);
  }

  // Number of rows from which on alignment pays.
  static constexpr int64_t kRowsWorthAligning = 8;

  // If nothing is copied, each stream has a constant increment from row to row. Streams addressed relative to others do
  // not need theirs if everything is machine code; they come last.
  void find_row_steps() {
    steps_are_known_ = true;
    bool is_code = std::all_of(program_.code.begin(), program_.code.end(),
                               [](const LoopInstruction& instruction) { return instruction.code != nullptr; });
    for (bool follow : {false, true}) {
      for (const auto* streams : {&program_.inputs, &program_.outputs}) {
        for (const Stream& stream : *streams) {
          if ((is_code && stream.follows) == follow) add_row_step(stream);
        }
      }
      if (!follow) row_step_count_ = known_step_count_;
    }
  }
  void add_row_step(const Stream& stream) {
    if (is_copied(stream)) steps_are_known_ = false;
    int64_t elements = stream.access == StreamAccess::Linear ? program_.row_length : stream.strides.end()[-2];
    int64_t element = stream.access == StreamAccess::RowScalar ? 0 : stream.item_size;
    row_steps_[known_step_count_++] = {stream.reg, elements * stream.item_size, element};
  }

  void run_next_row() {
    take_row_steps();
    if (program_.fetches_ahead) fetch_next_row(program_.row_length);
    fetches_.ask(at_);
    at_.execute(program_.row_length, head_);
  }

  bool is_one_code() const { return program_.code.size() == 1 && program_.code[0].code != nullptr; }
  bool is_one_loop() const {
    return program_.code.size() == 1 && program_.code[0].loop != nullptr && !program_.code[0].is_single;
  }
  void take_row_steps() {
    for (size_t i = 0; i < row_step_count_; ++i) at_[row_steps_[i].reg] += row_steps_[i].bytes;
  }
  // Of short rows whatever is done for each of them counts.
  void run_rows_alike(int64_t rows, PointwiseCode code) {
    while (rows-- > 0) {
      take_row_steps();
      code(at_.data(), program_.row_length, head_);
    }
  }
  void run_rows_alike(int64_t rows, const LoopInstruction& instruction) {
    const Scalar* params = instruction.params < 0 ? nullptr : &program_.params[static_cast<size_t>(instruction.params)];
    int operands = 0;
    while (operands < 3 && instruction.src[operands] >= 0) ++operands;
    const void* src[3] = {};
    while (rows-- > 0) {
      take_row_steps();
      for (int i = 0; i < operands; ++i) src[i] = at_[instruction.src[i]];
      instruction.loop(src, at_[instruction.dst], program_.row_length, params);
    }
  }

  void choose_fetches() {
    if (program_.fetches_ahead || folds()) return fetches_.choose_none();
    fetches_.choose(program_, std::span(row_steps_).first(known_step_count_), row_step_count_, at_);
  }

  // The result of a reduction is available long after its last element is read:
  // interleaving two rows hides the latency.
  bool takes_pairs() const {
    constexpr int64_t kPairBytes = 24 * 1024;  // of the L1 cache
    int64_t bytes = 2 * program_.scratch_bytes;
    // Rows that come from memory are better processed one by one.
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

  // Decrements `rows`, the number of rows after the current one, by the rows processed.
  void run_pairs(int64_t& rows) {
    for (auto [reg, offset] : program_.scratch)
      beside_[static_cast<size_t>(reg)] = at_.scratch() + padded_scratch_bytes() + offset;
    for (const LoopScalar& scalar : program_.scalars) beside_[static_cast<size_t>(scalar.reg)] = at_.base(scalar.reg);
    for (; rows >= 2; rows -= 2) {
      for (size_t i = 0; i < row_step_count_; ++i) {
        std::byte*& at = at_[row_steps_[i].reg];
        at += row_steps_[i].bytes;
        beside_[static_cast<size_t>(row_steps_[i].reg)] = at + row_steps_[i].bytes;
      }
      for (const LoopInstruction& instruction : program_.code) {
        at_.execute(instruction, program_.row_length);
        at_.execute(instruction, program_.row_length, beside_);
      }
      for (size_t i = 0; i < row_step_count_; ++i)
        at_[row_steps_[i].reg] = beside_[static_cast<size_t>(row_steps_[i].reg)];
    }
  }

  // Number of elements to process first in each row, so that most streams continue at a vector-aligned address: a
  // vector across a cache line boundary costs two accesses. Streams differ, as in a stencil.
  void choose_head(int64_t rows) {
    head_ = 0;
    if (rows < kRowsWorthAligning || !is_one_code()) return;
    std::array<int64_t, kCacheLine> streams = {};  // by number of elements to the next aligned address
    const int64_t vector = program_.code_vector_bytes;
    int64_t item = 0;
    for (size_t i = 0; i < known_step_count_; ++i) item = std::max(item, row_steps_[i].element_bytes);
    if (item == 0) return;
    for (size_t i = 0; i < known_step_count_; ++i) {
      auto address = reinterpret_cast<uintptr_t>(at_[row_steps_[i].reg]);
      bool stays = row_steps_[i].element_bytes == item && row_steps_[i].bytes % kCacheLine == 0;
      int64_t before = static_cast<int64_t>(-address % static_cast<uintptr_t>(vector));
      if (stays && before % item == 0) ++streams[static_cast<size_t>(before / item)];
    }
    int64_t best = std::max_element(streams.begin(), streams.end()) - streams.begin();
    int64_t saved = (streams[static_cast<size_t>(best)] - streams[0]) * (program_.row_length * item / kCacheLine);
    if (saved >= 2 * static_cast<int64_t>(known_step_count_)) head_ = best;
  }

  template <typename F>
  void for_each_stream(F&& f) {
    size_t i = 0;
    for (const Stream& stream : program_.inputs) f(stream, row_start_[i++]);
    for (const Stream& stream : program_.outputs) f(stream, row_start_[i++]);
  }

  // Computes the start of the row: incrementally, if the previous row was the last one processed.
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
    return at_.base(stream.reg) + offset * stream.item_size;
  }

  void place_input(const Stream& stream, int64_t start, int64_t row, int64_t column, int64_t n) {
    std::byte*& at = at_[stream.reg];
    switch (stream.access) {
      case StreamAccess::Chosen:
      case StreamAccess::Linear:
      case StreamAccess::RowLinear:
      case StreamAccess::RowScalar:
        at = element(stream, start, row, column);
        return;
      case StreamAccess::Strided:
        if (is_across(stream)) {
          at = panel_row(stream, start) + column * stream.item_size;
          return;
        }
        at = tile_of(stream);
        if (is_together(stream)) return;
        return copy_items(stream.item_size, element(stream, start, row, column), byte_step(stream), at,
                          stream.item_size, n);
      case StreamAccess::Walked:
        at = tile_of(stream);
        return walk<true>(stream, column, n, at);
      case StreamAccess::Turned:
        at = tile_of(stream);
        return turn(stream, row * program_.row_length + column, n, at);
    }
  }

  // The first inputs that are copied from one step, if they are several.
  void choose_together() {
    for (size_t i = 0; i < program_.inputs.size() && together_count_ < kMostPicks; ++i) {
      const Stream& stream = program_.inputs[i];
      if (stream.access != StreamAccess::Strided || is_across(stream) || stream.strides.back() < 2) continue;
      const Stream& first = program_.inputs[together_count_ > 0 ? together_[0] : i];
      if (stream.item_size != first.item_size || byte_step(stream) != byte_step(first)) continue;
      together_[together_count_++] = i;
    }
    if (together_count_ == 0) return;
    const Stream& first = program_.inputs[together_[0]];
    if (!are_picked_together(first.item_size, byte_step(first), together_count_)) together_count_ = 0;
  }
  bool is_together(const Stream& stream) const {
    auto at = static_cast<size_t>(&stream - program_.inputs.data());
    return std::find(together_, together_ + together_count_, at) != together_ + together_count_;
  }
  void place_together(int64_t row, int64_t column, int64_t n) {
    const char* from[kMostPicks];
    char* to[kMostPicks];
    for (size_t k = 0; k < together_count_; ++k) {
      const Stream& stream = program_.inputs[together_[k]];
      from[k] = reinterpret_cast<const char*>(element(stream, row_start_[together_[k]], row, column));
      to[k] = reinterpret_cast<char*>(tile_of(stream));
    }
    const Stream& first = program_.inputs[together_[0]];
    pick_together(first.item_size, byte_step(first), {from, together_count_}, {to, together_count_}, n);
  }

  RowPanel::Rows rows_across(const Stream& stream) const {
    return {.item = stream.item_size,
            .row_step = stream.strides.end()[-2] * stream.item_size,
            .step = byte_step(stream),
            .rows = program_.sizes.end()[-2],
            .columns = program_.row_length};
  }
  bool is_across(const Stream& stream) const { return !panels_.empty() && RowPanel::suits(rows_across(stream)); }
  void choose_panels() {
    if (end_ == 0 || program_.sizes.size() < 2) return;
    bool is_any = std::any_of(program_.inputs.begin(), program_.inputs.end(), [&](const Stream& stream) {
      return stream.access == StreamAccess::Strided && RowPanel::suits(rows_across(stream));
    });
    if (is_any) panels_.resize(program_.inputs.size());
  }
  std::byte* panel_row(const Stream& stream, int64_t start) {
    int64_t place = index_[program_.sizes.size() - 2];
    const std::byte* first = at_.base(stream.reg) + (start - place) * stream.item_size;
    RowPanel& panel = panels_[static_cast<size_t>(&stream - program_.inputs.data())];
    RowPanel::Rows rows = rows_across(stream);
    rows.rows = std::min(rows.rows, place + end_ - row_);
    const char* row = panel.row(rows, reinterpret_cast<const char*>(first), place);
    return reinterpret_cast<std::byte*>(const_cast<char*>(row));
  }

  // Reducing a row takes longer than prefetching the next one.
  void fetch_next_row(int64_t n) {
    for (const Stream& stream : program_.inputs) {
      if (stream.access != StreamAccess::Linear) continue;
      prefetch(at_[stream.reg] + n * stream.item_size, n * stream.item_size);
    }
  }

  void place_output(const Stream& stream, int64_t start, int64_t row, int64_t column) {
    bool in_place = stream.access != StreamAccess::Strided && stream.access != StreamAccess::Walked;
    at_[stream.reg] = in_place ? element(stream, start, row, column) : tile_of(stream);
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

  std::byte* tile_of(const Stream& stream) { return at_.scratch() + stream.tile_offset; }

  // Copies n elements of a roll's result from the one numbered `start` on to a tile, in runs along the last dim.
  void turn(const Stream& stream, int64_t start, int64_t n, std::byte* tile) {
    const Turn& turn = program_.turns[static_cast<size_t>(stream.turn)];
    size_t last = turn.sizes.size() - 1;
    std::array<int64_t, kMaxLoopRank> index, from;  // in the result, and in the operand
    int64_t rest = start, offset = 0;
    for (size_t d = last + 1; d-- > 0; rest /= turn.sizes[d]) {
      index[d] = rest % turn.sizes[d];
      from[d] = index[d] - turn.shifts[d] + (index[d] < turn.shifts[d] ? turn.sizes[d] : 0);
      offset += from[d] * turn.strides[d];
    }
    while (n > 0) {
      int64_t run = std::min({n, turn.sizes[last] - index[last], turn.sizes[last] - from[last]});
      copy_items(stream.item_size, at_.base(stream.reg) + offset * stream.item_size,
                 turn.strides[last] * stream.item_size, tile, stream.item_size, run);
      tile += run * stream.item_size;
      n -= run;
      index[last] += run;
      from[last] += run;
      offset += run * turn.strides[last];
      for (size_t d = last;; --d) {
        if (from[d] == turn.sizes[d]) {
          offset -= turn.sizes[d] * turn.strides[d];
          from[d] = 0;
        }
        if (index[d] < turn.sizes[d] || d == 0) break;
        index[d] = 0;
        ++index[d - 1];
        ++from[d - 1];
        offset += turn.strides[d - 1];
      }
    }
  }

  // Copies n elements from iteration index `start` on to or from a tile, in runs along the last dimension.
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
      std::byte* outside = at_.base(stream.reg) + offset * stream.item_size;
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
  LoopRegisters at_;
  LoopAddresses beside_;  // of a second row
  // By stream, inputs first: offset of the current row, in elements; 0 if there is one row.
  std::array<int64_t, kMaxLoopRegisters> row_start_;
  std::array<int64_t, kMaxLoopRank> index_ = {};
  int64_t row_ = 0, end_;
  // By stream. A runner is created for every few rows: large members are left uninitialised until used.
  std::array<RowStep, kMaxLoopRegisters> row_steps_;
  size_t row_step_count_ = 0, known_step_count_ = 0;  // maintained ones; including those relative to others
  int64_t head_ = 0;
  RowFetches fetches_;
  size_t together_[kMostPicks], together_count_ = 0;
  std::vector<RowPanel> panels_;  // by input; empty if none is contiguous across the rows
  bool steps_are_known_ = false;
};

}  // namespace md
