// Callable types that stand for a Python function inside them, which they never change: CompiledFunction, PolicyFunction, disabled
// functions.
#pragma once
#include "cpython/ref.h"

namespace md {

struct Policy;

// The type lives as long as the process.
struct WrapperType {
  PyTypeObject* type;
  // The function inside, borrowed from the callable; null if it has none. Runs no Python code.
  BorrowedRef (*inner)(PyObject* wrapper);
  // The policy in force inside, given the caller's; null: not to be captured (a disabled function).
  const Policy* (*policy_inside)(PyObject* wrapper, const Policy* caller);
  // True when with nested_graph_breaks off the wrapper counts as a frame of its own.
  bool counts_as_frame;
};
const WrapperType* find_wrapper_type(PyTypeObject* type);  // null: not such a type

// A Python function that stands for one callable, of whatever type. Both are held for the life of the process.
void add_replacement(BorrowedRef callable, BorrowedRef function);
BorrowedRef find_replacement(BorrowedRef callable);  // null: none

}  // namespace md
