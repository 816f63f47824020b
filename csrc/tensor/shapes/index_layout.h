// How x[i, j] with tensors of indices lies: which dims they replace and where the result has theirs.
#pragma once
#include <vector>

#include "tensor/ops/op_row.h"

namespace md {

// The indices broadcast together. Next to each other, the indexed dims are replaced in their place; apart, the
// broadcast dims come first.
struct IndexLayout {
  std::vector<int> dims;  // indexed, ascending
  DimVec broadcast;
  int broadcast_at = 0;  // dims of self before the broadcast ones
  DimVec sizes;          // of the result
};
// Of index and index_put: arguments 1 and 2. Throws Error(Index) in torch's words.
IndexLayout index_layout(const OpCall& call);
// Raises unless the tensor has an index dtype.
void check_index_dtype(const OpCall& call, const TensorSpec& index);

}  // namespace md
