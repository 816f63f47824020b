// Calls that encode or decode text. Most codecs and error handlers are in registries that the program can modify.
#pragma once
#include <vector>

#include "cpython/ref.h"

namespace md {

// Returns true if the call would look into the registry of codecs or error handlers, whose entries may be the
// program's. The last arguments belong to the names in the tuple. The callable is one of pure_calls.cpp.
bool looks_for_codec(BorrowedRef callable, const std::vector<Ref>& args, BorrowedRef keyword_names);

}  // namespace md
