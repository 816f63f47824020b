// Reductions over the last dim as instructions of a fused loop: one row at a time, while it is in the L1 cache.
#pragma once
#include <optional>

#include "graph/graph.h"
#include "tensor/simd/pointwise_table.h"

namespace md {

// *result = the reduction of src[0..n), both of one dtype. param: the correction of a variance.
using RowFold = void (*)(const void* src, int64_t n, void* result, double param);

// The same element by element: the binary operation to apply.
struct ShortReduction {
  Pointwise combine;
  bool is_mean = false;  // divided by the number of elements at the end
};

struct RowReductionCall {
  RowFold run = nullptr;
  double param = 0;
  RowFold of_squares = nullptr;                 // the same over the squares of the elements
  const ShortReduction* elementwise = nullptr;  // for short rows
  RowFold with_mean = nullptr;                  // of a variance: also stores the mean after the result
  RowFold mean_beside = nullptr;                // of a mean: reads it from such a result, which is its src
};

// Longer rows exceed the cache. Rows shorter than kLeastFoldedRow are reduced element by element.
inline constexpr int64_t kLeastFoldedRow = 64, kMostFoldedRow = 8192;
bool folds_short_rows(const DimVec& sizes);

// nullopt if the node is not a reduction over the last dim alone, or if loops do not support its dtype or length.
std::optional<RowReductionCall> as_row_fold(const Node& node);

}  // namespace md
