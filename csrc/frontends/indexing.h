// x[key] as a chain of view ops: one parse for eager indexing and for capture.
#pragma once
#include <vector>

#include "cpython/ref.h"
#include "tensor/op_row.h"

namespace md {

// One view op; args[0] is an undefined Tensor, the place of the value that the step before made.
struct IndexStep {
  const OpRow* row;
  std::vector<Arg> args;
};

// key: int, slice, None, Ellipsis or a tuple of them. At least one step: the result is a new tensor always.
// Throws Error(Index) for too many indices or a key of another type, Error(Value) for a negative step,
// Error(NotImplemented) for keys that torch takes and this does not: tensors, lists, bools.
std::vector<IndexStep> index_steps(const TensorSpec& spec, BorrowedRef key);

}  // namespace md
