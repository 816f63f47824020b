// Python's strings as C++ text. A str may hold lone surrogates (a file name that is no UTF-8, a name given to setattr), which
// UTF-8 cannot say.
#pragma once
#include <string>
#include <string_view>

#include "cpython/ref.h"

namespace md {

// For messages, logs and names of tables: lone surrogates as \udc80, what is no str (or null) as "?". Never fails; an exception
// that is set stays. GIL held.
std::string text_of(BorrowedRef string);

// The same without a copy, as long as the str lives; its data is null where the str has lone surrogates. GIL held.
std::string_view text_view(BorrowedRef string);

}  // namespace md
