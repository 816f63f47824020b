// x[key] as a chain of view ops and at most one gather by index tensors: one parse for eager indexing and for capture.
#pragma once
#include <vector>

#include "cpython/ref.h"
#include "guards/tensor_family.h"

namespace md {

// One view op; args[0] is an undefined Tensor, a placeholder for the value of the previous step.
struct IndexStep {
  const OpRow* row;
  std::vector<Arg> args;
};

// After the steps, the dims `dims` are indexed by `indices` (int64) together. `mask` is set if the only index is one
// bool tensor for leading dims, so a scalar store can use masked_fill instead of index_put.
struct IndexPlan {
  std::vector<IndexStep> steps;
  std::vector<Tensor> indices;
  DimVec dims;
  Tensor mask;
};

// key: int, slice, None, Ellipsis, bool, a tensor of indices or a mask, a list, or a tuple of them. No steps and no
// indices: the whole tensor. Throws Error(Index) for too many indices, indices of another type, or a mask of other
// sizes; Error(Value) for a step that is not positive; Error(NotImplemented) for tensors and bools if as_tensor is
// null.
IndexPlan index_plan(const TensorSpec& spec, BorrowedRef key, const TensorFromKey& as_tensor);
// The same for libraries with negative strides: slices may step backwards.
IndexPlan index_plan_both_ways(const TensorSpec& spec, BorrowedRef key, const TensorFromKey& as_tensor);

}  // namespace md
