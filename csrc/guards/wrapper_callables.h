// Callable types that stand for a Python function inside them, which they never change: compiled functions and the like.
#pragma once
#include "cpython/ref.h"

namespace md {

// The function inside, borrowed from the callable; null if it has none. Runs no Python code.
using FunctionInside = BorrowedRef (*)(PyObject* callable);

void add_wrapper_callable(PyTypeObject* type, FunctionInside inside);  // the type lives as long as the process
FunctionInside find_wrapper_callable(PyTypeObject* type);              // null: not such a type

// A Python function that stands for one callable, of whatever type. Both are held for the life of the process.
void add_replacement(BorrowedRef callable, BorrowedRef function);
BorrowedRef find_replacement(BorrowedRef callable);  // null: none

}  // namespace md
