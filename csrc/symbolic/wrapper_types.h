// Callable types that stand for a Python function under a policy: CompiledFunction, PolicyFunction, disabled functions.
#pragma once
#include "cpython/ref.h"
#include "snapshot/policy.h"

namespace md {

struct WrapperType {
  PyTypeObject* type;
  BorrowedRef (*inner)(PyObject* wrapper);
  // The policy in force inside, given the caller's; null: not to be captured (a disabled function).
  const Policy* (*policy_inside)(PyObject* wrapper, const Policy* caller);
  // True when with nested_graph_breaks off the wrapper counts as a frame of its own.
  bool counts_as_frame;
};
void register_wrapper_type(const WrapperType& wrapper);
const WrapperType* find_wrapper_type(PyTypeObject* type);

}  // namespace md
