// Calls that encode or decode a text. Most codecs, and what they do about errors, are in registries that belong to the program.
#pragma once
#include <vector>

#include "cpython/ref.h"

namespace md {

// Whether a call with these arguments, the last of them by the names in the tuple, would look into the registry of codecs or of
// error handlers: what is there may be the program's own, or become so. The callable is one of pure_calls.cpp.
bool looks_for_codec(BorrowedRef callable, const std::vector<Ref>& args, BorrowedRef keyword_names);

}  // namespace md
