// Traceback entries for code that ran without a frame of its own, and the modules that an exception came through.
#pragma once
#include "cpython/ref.h"

namespace md {

// Prepends an entry to the traceback of the current exception, as if it had propagated through a frame of this
// function. Keeps the exception set.
void add_traceback_entry(const char* file, int line, const char* function);

// Whether the exception came only through frames of the package that defines the function, of Python's library and of
// this package. A handler of a signal that ran while the function did has a frame of the program.
bool came_from_library(BorrowedRef exception, BorrowedRef function);

}  // namespace md
