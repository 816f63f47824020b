// Our own functions that a trace knows: modes of the thread, and what the program tells the capture.
#pragma once
#include <string_view>

#include "symbolic/trace/tracer.h"

namespace md {

// Gives the callable the handler of this name (a row of mode_calls.cpp). Throws Error(Key) for an unknown one.
void register_mode_call(std::string_view name, BorrowedRef callable);

}  // namespace md
