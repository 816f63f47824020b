#include "executor/loops/loop_program.h"

#include <algorithm>
#include <cstring>

#include "executor/loops/gather_rows_runner.h"
#include "executor/loops/tile_runner.h"
#include "tensor/fill.h"
#include "tensor/ops/checked_numbers.h"
#include "tensor/parallel/threads.h"

namespace md {
namespace {

// Stores scalar operands in the type that the loops read.
void load_scalars(const LoopProgram& program, const RunState& state, LoopElement* slots,
                  std::array<std::byte*, kMaxLoopRegisters>& bases) {
  for (size_t i = 0; i < program.scalars.size(); ++i) {
    const LoopScalar& scalar = program.scalars[i];
    bases[static_cast<size_t>(scalar.reg)] = reinterpret_cast<std::byte*>(&slots[i]);
    if (scalar.value >= 0) {
      const Place& place = state.layout->places[static_cast<size_t>(scalar.value)];
      const std::byte* src = state.address(place);
      if (place.spec.dtype == scalar.dtype) {
        std::memcpy(&slots[i], src, item_size(scalar.dtype));
      } else {
        store_scalar(scalar.dtype, load_scalar(place.spec.dtype, src), &slots[i]);
      }
    } else if (scalar.input >= 0) {
      const Scalar& number = state.inputs[static_cast<size_t>(scalar.input)].scalar;
      if (scalar.checked_by != nullptr && !fits(scalar.holds, number))
        raise_does_not_fit(scalar.checked_by->name, scalar.holds);
      store_scalar(scalar.dtype, number, &slots[i]);
    } else {
      slots[i] = scalar.bits;
    }
  }
}

// The loop for the most elements of a row, at most `elements`; nullptr if there is none.
const RowLoop* longest_within(std::span<const RowLoop> loops, int64_t elements) {
  const RowLoop* found = nullptr;
  for (const RowLoop& loop : loops) {
    if (loop.elements <= elements && (found == nullptr || loop.elements > found->elements)) found = &loop;
  }
  return found;
}

}  // namespace

LoopRun::LoopRun(const LoopProgram& program, const RunState& state) : program_(program) {
  load_scalars(program, state, slots_, bases_);
  for (const auto* streams : {&program.inputs, &program.outputs}) {
    for (const Stream& stream : *streams) {
      std::byte* first = state.address(state.layout->places[static_cast<size_t>(stream.value)]);
      bases_[static_cast<size_t>(stream.reg)] = first + stream.offset * stream.item_size;
    }
  }
  for (size_t i = 0; i < program.choices.size(); ++i) {
    int index = program.choices[i].index;
    indices_[i] = index < 0 ? nullptr : reinterpret_cast<const int64_t*>(state.address(index));
  }
  if (!program.packs.empty()) pack_rows();
}

void LoopRun::pack_rows() {
  packed_ = Storage::allocate(static_cast<size_t>(program_.packed_bytes));
  for (const PackedRow& pack : program_.packs) {
    std::byte* to = static_cast<std::byte*>(packed_->data()) + pack.place;
    std::byte*& base = bases_[static_cast<size_t>(pack.reg)];
    copy_items(pack.item_size, base, pack.stride * pack.item_size, to, pack.item_size, program_.row_length);
    base = to;
  }
}

LoopRun::LoopRun(const LoopRun& run, int64_t begin, std::span<const std::pair<int, std::byte*>> moved)
    : program_(run.program_), bases_(run.bases_), packed_(run.packed_) {
  for (const auto* streams : {&program_.inputs, &program_.outputs}) {
    for (const Stream& stream : *streams) {
      for (const auto& [value, memory] : moved) {
        if (stream.value == value)
          bases_[static_cast<size_t>(stream.reg)] = memory + (stream.offset - begin) * stream.item_size;
      }
    }
  }
}

void LoopRun::run_block(int64_t begin, int64_t rows, int64_t pitch, int64_t length) const {
  TileRunner runner(program_, bases_, 0);
  for (int64_t i = 0; i < rows; ++i, begin += pitch) {
    for (int64_t at = begin, end = begin + length, n; at < end; at += n) {
      int64_t column = at % program_.row_length;
      n = std::min({program_.tile, program_.row_length - column, end - at});
      runner.run_tile(at / program_.row_length, column, n);
    }
  }
}

void LoopRun::run_chosen(int64_t begin, int64_t end, int64_t column, int64_t length) const {
  GatherRowsRunner runner(program_, bases_, indices_);
  for (int64_t at = column, n; at < column + length; at += n) {
    n = std::min(program_.tile, column + length - at);
    if (const RowLoop* loop = longest_within(program_.row_loops, n)) n = loop->elements;
    runner.run(begin, end, at, n);
  }
}

void LoopRun::run_in_place() {
  alignas(kCacheLine) std::byte scratch[kScratchBytes];
  for (auto [reg, offset] : program_.scratch) bases_[static_cast<size_t>(reg)] = scratch + offset;
  for (const LoopInstruction& instruction : program_.code) execute(program_, instruction, program_.numel, bases_);
}

namespace {

// Elements of a tile. Where nothing is kept between instructions, a cheap one runs over several at once, since placing
// the streams of each takes as long as a tenth of it.
int64_t tile_of(const LoopProgram& program) {
  constexpr int64_t kAtOnce = 8;
  constexpr double kMostNs = 16000;  // that threads cannot share
  auto is_any_copied = [](const std::vector<Stream>& streams) { return std::ranges::any_of(streams, is_copied); };
  bool is_plain = program.code.size() == 1 && program.scratch_bytes == 0 && !is_any_copied(program.inputs) &&
                  !is_any_copied(program.outputs);
  int64_t longer = program.tile * kAtOnce;
  return is_plain && program.ns_per_element * static_cast<double>(longer) <= kMostNs ? longer : program.tile;
}

}  // namespace

void run_loop(const LoopProgram& program, const RunState& state) {
  if (program.numel == 0) return;
  LoopRun run(program, state);
  if (program.is_in_place) return run.run_in_place();
  const int64_t tile = tile_of(program);
  if (program.numel <= tile && program.rows == 1) {
    TileRunner(program, run.bases_, 1).run_tile(0, 0, program.numel);
    return;
  }
  int64_t tiles_per_row = (program.row_length + tile - 1) / tile;
  double ns_per_tile = program.ns_per_element * static_cast<double>(std::min(tile, program.row_length));
  parallel_for(program.rows * tiles_per_row, ns_per_tile, [&](int64_t begin, int64_t end) {
    TileRunner runner(program, run.bases_, (end + tiles_per_row - 1) / tiles_per_row);
    if (tiles_per_row == 1) return runner.run_rows(begin, end);
    for (int64_t i = begin; i < end; ++i) {
      int64_t column = i % tiles_per_row * tile;
      runner.run_tile(i / tiles_per_row, column, std::min(tile, program.row_length - column));
    }
  });
}

}  // namespace md
