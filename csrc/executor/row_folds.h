// Reductions over the last dim as instructions of a fused loop: a row at a time, while it is in the first cache level.
#pragma once
#include <optional>

#include "graph/graph.h"

namespace md {

// *result = the reduction of src[0..n), both of one dtype. param: the correction of a variance.
using RowFold = void (*)(const void* src, int64_t n, void* result, double param);

struct RowFoldCall {
  RowFold run = nullptr;
  double param = 0;
};

// Rows of fewer elements cost more than they save, and longer ones leave the cache.
inline constexpr int64_t kLeastFoldedRow = 64, kMostFoldedRow = 8192;

// Nothing when the node is no reduction over the last dim alone, or of a dtype or length that such loops do not take.
std::optional<RowFoldCall> as_row_fold(const Node& node);

}  // namespace md
