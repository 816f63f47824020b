// Traceback entries for code that ran without a frame of its own.
#pragma once

namespace md {

// Prepends an entry to the traceback of the current exception, as if it had propagated through a frame of this
// function. Keeps the exception set.
void add_traceback_entry(const char* file, int line, const char* function);

}  // namespace md
