// Reductions over the last dim as instructions of a fused loop: a row at a time, while it is in the first cache level.
#pragma once
#include <optional>

#include "graph/graph.h"
#include "tensor/simd/pointwise_table.h"

namespace md {

// *result = the reduction of src[0..n), both of one dtype. param: the correction of a variance.
using RowFold = void (*)(const void* src, int64_t n, void* result, double param);

// The same, element by element: the operation that takes one more.
struct ShortFold {
  Pointwise combine;
  bool is_mean = false;  // divided by the number of elements in the end
};

struct RowFoldCall {
  RowFold run = nullptr;
  double param = 0;
  RowFold of_squares = nullptr;         // the same of the elements' squares
  const ShortFold* by_steps = nullptr;  // rows are short
  RowFold with_mean = nullptr;          // of a variance: the same, and the mean as the element after the result
  RowFold mean_beside = nullptr;        // of a mean: taken from such a result, which is its src
};

// Longer rows leave the cache. Shorter ones than the least are folded element by element.
inline constexpr int64_t kLeastFoldedRow = 64, kMostFoldedRow = 8192;
bool folds_short_rows(const DimVec& sizes);

// Nothing when the node is no reduction over the last dim alone, or of a dtype or length that such loops do not take.
std::optional<RowFoldCall> as_row_fold(const Node& node);

}  // namespace md
