// Layout of x[i, j] with index tensors: which dims they replace, and where the result has the broadcast dims.
#pragma once
#include <vector>

#include "tensor/ops/op_row.h"

namespace md {

// The indices are broadcast together. If the indexed dims are adjacent, the broadcast dims replace them in
// place; otherwise they come first.
struct IndexLayout {
  std::vector<int> dims;  // indexed, ascending
  DimVec broadcast;
  int broadcast_at = 0;  // number of dims of self before the broadcast ones
  DimVec sizes;          // of the result
};
// For index and index_put: arguments 1 and 2. Throws Error(Index) with torch's message.
IndexLayout index_layout(const OpCall& call);
// Raises unless the tensor has an index dtype.
void check_index_dtype(const OpCall& call, const TensorSpec& index);

// How many elements are not zero.
int64_t count_true(const Tensor& tensor);
// How many elements a masked_select has: arguments 0 and 1 are the tensor and the mask.
int64_t count_masked(const OpCall& call);

}  // namespace md
