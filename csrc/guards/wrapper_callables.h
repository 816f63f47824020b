// Callable types that wrap a Python function, which never changes: CompiledFunction,
// PolicyFunction, disabled functions.
#pragma once
#include "cpython/ref.h"

namespace md {

struct Policy;

// The type lives as long as the process.
struct WrapperType {
  PyTypeObject* type;
  // The wrapped function, borrowed from the callable; null if it has none. Runs no Python code.
  BorrowedRef (*inner)(PyObject* wrapper);
  // The policy inside the wrapper, given the caller's; null: not captured (a disabled function).
  const Policy* (*policy_inside)(PyObject* wrapper, const Policy* caller);
  // Whether the wrapper counts as a frame of its own when nested_graph_breaks is off.
  bool counts_as_frame;
};
const WrapperType* find_wrapper_type(PyTypeObject* type);  // null: not such a type

// A Python function that replaces one callable of any type. Both are owned for the life of the process.
void add_replacement(BorrowedRef callable, BorrowedRef function);
BorrowedRef find_replacement(BorrowedRef callable);  // null: none

}  // namespace md
