#include "executor/loops/loop_iteration.h"

#include <algorithm>
#include <cstdlib>

namespace md {
namespace {

constexpr int64_t kMinRow = 64;  // shorter rows use StreamAccess::Walked
constexpr int64_t kRowsWorthPacking = 4;

// An odd number of cache lines, so that rows read side by side fall into different cache sets.
int64_t packed_row_bytes(int64_t bytes) { return ((bytes + kCacheLine - 1) / kCacheLine | 1) * kCacheLine; }

template <typename F>
void for_each_stream(LoopProgram& program, F&& f) {
  for (Stream& stream : program.inputs) f(stream);
  for (Stream& stream : program.outputs) f(stream);
}

void permute(LoopProgram& program, const std::vector<int64_t>& sizes, const std::vector<int>& order) {
  for (int d : order) program.sizes.push_back(sizes[static_cast<size_t>(d)]);
  for_each_stream(program, [&](Stream& stream) {
    std::vector<int64_t> strides;
    for (int d : order) strides.push_back(stream.strides[static_cast<size_t>(d)]);
    stream.strides = std::move(strides);
  });
}

// Does not merge dimensions from `kept` on with those before.
void merge_dimensions(LoopProgram& program, size_t kept) {
  for (size_t d = program.sizes.size(); d-- > 1;) {
    bool merges = d != kept;
    for_each_stream(program, [&](const Stream& stream) {
      merges = merges && stream.strides[d - 1] == stream.strides[d] * program.sizes[d];
    });
    if (!merges) continue;
    program.sizes[d - 1] *= program.sizes[d];
    program.sizes.erase(program.sizes.begin() + static_cast<std::ptrdiff_t>(d));
    for_each_stream(program, [&](Stream& stream) {
      stream.strides.erase(stream.strides.begin() + static_cast<std::ptrdiff_t>(d - 1));
    });
  }
}

bool is_linear(const LoopProgram& program, const Stream& stream) {
  int64_t expected = 1;
  for (size_t d = program.sizes.size(); d-- > 0;) {
    if (stream.strides[d] != expected) return false;
    expected *= program.sizes[d];
  }
  return true;
}

void choose_access(LoopProgram& program, bool folds_rows) {
  bool by_row = folds_rows || program.sizes.size() == 1 || program.sizes.back() >= kMinRow;
  program.row_length = by_row ? program.sizes.back() : program.numel;
  program.rows = program.row_length == 0 ? 0 : program.numel / program.row_length;
  for_each_stream(program, [&](Stream& stream) {
    if (is_linear(program, stream)) {
      stream.access = StreamAccess::Linear;
    } else if (!by_row) {
      stream.access = StreamAccess::Walked;
    } else {
      stream.access = stream.strides.back() == 1 ? StreamAccess::RowLinear : StreamAccess::Strided;
    }
  });
  auto mark_row_scalars = [](std::vector<Stream>& streams) {
    for (Stream& stream : streams) {
      bool is_one = stream.access == StreamAccess::Strided && stream.strides.back() == 0;
      if (is_one) stream.access = StreamAccess::RowScalar;
    }
  };
  mark_row_scalars(program.inputs);
  if (folds_rows) mark_row_scalars(program.outputs);
}

}  // namespace

std::vector<int64_t> loop_extents(const DimVec& sizes, bool is_unrolled) {
  std::vector<int64_t> extents;
  for (int d = 0; d < sizes.size() - (is_unrolled ? 1 : 0); ++d) extents.push_back(sizes[d].value());
  return extents;
}

void choose_iteration(LoopProgram& program, const std::vector<int64_t>& sizes, bool folds_rows) {
  const Stream& lead = program.outputs.empty() ? program.inputs[0] : program.outputs[0];
  std::vector<int64_t> lead_strides = lead.strides;
  std::vector<int> order;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] != 1) order.push_back(static_cast<int>(d));
  }
  if (!folds_rows) {
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
      return std::abs(lead_strides[static_cast<size_t>(a)]) > std::abs(lead_strides[static_cast<size_t>(b)]);
    });
  }
  permute(program, sizes, order);
  // A reduced row stays a dimension of its own.
  merge_dimensions(program, folds_rows ? program.sizes.size() - 1 : program.sizes.size());
  if (program.sizes.empty()) {
    program.sizes = {1};
    for_each_stream(program, [](Stream& stream) { stream.strides = {1}; });
  }
  choose_access(program, folds_rows);
}

bool choose_row_iteration(LoopProgram& program, const std::vector<int64_t>& sizes, int lead, bool folds_rows,
                          std::span<const int64_t> row_strides) {
  std::vector<int> order;
  size_t kept = 0;
  for (int d = 0; d < static_cast<int>(sizes.size()); ++d) {
    if (sizes[static_cast<size_t>(d)] == 1) continue;
    if (d < lead) ++kept;
    order.push_back(d);
  }
  permute(program, sizes, order);
  merge_dimensions(program, kept);
  bool is_folded_row = !folds_rows || (lead == static_cast<int>(sizes.size()) - 1 && sizes.back() > 1);
  if (kept == 0 || program.sizes.size() != 2 || !is_folded_row) return false;
  program.rows = program.sizes[0];
  program.row_length = program.sizes[1];
  for_each_stream(program, [&](Stream& stream) {
    if (stream.choice >= 0) {
      stream.access = StreamAccess::Chosen;
      stream.strides = {row_strides[static_cast<size_t>(stream.choice)], 1};
      return;
    }
    int64_t step = stream.strides.back();
    stream.access = step == 1 ? StreamAccess::RowLinear : step == 0 ? StreamAccess::RowScalar : StreamAccess::Strided;
  });
  pack_inputs(program);
  bool is_copied_any = false;
  for_each_stream(program, [&](const Stream& stream) { is_copied_any |= is_copied(stream); });
  return !is_copied_any;
}

void pack_inputs(LoopProgram& program) {
  if (program.rows < kRowsWorthPacking) return;
  for (Stream& stream : program.inputs) {
    bool is_same = std::all_of(stream.strides.begin(), stream.strides.end() - 1, [](int64_t s) { return s == 0; });
    if (!is_same || stream.access != StreamAccess::Strided || stream.strides.back() == 0) continue;
    program.packs.push_back({.reg = stream.reg,
                             .stride = stream.strides.back(),
                             .item_size = stream.item_size,
                             .place = program.packed_bytes});
    program.packed_bytes += packed_row_bytes(program.row_length * stream.item_size);
    stream.strides.back() = 1;
    stream.access = StreamAccess::RowLinear;
  }
}

}  // namespace md
