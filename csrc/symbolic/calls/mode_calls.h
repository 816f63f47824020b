// The package's own functions that the tracer knows: modes of the thread, and hints of the program to the tracer.
#pragma once
#include <string_view>

#include "symbolic/trace/tracer.h"

namespace md {

// Registers the handler of this name (a row of mode_calls.cpp) for the callable. Throws Error(Key) for an unknown name.
void register_mode_call(std::string_view name, BorrowedRef callable);

}  // namespace md
