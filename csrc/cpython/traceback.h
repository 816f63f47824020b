// Traceback entries for code that ran without a frame of its own.
#pragma once

namespace md {

// Puts an entry above those of the exception that is set, as if a frame of this function had passed it on. Keeps the exception.
void add_traceback_entry(const char* file, int line, const char* function);

}  // namespace md
