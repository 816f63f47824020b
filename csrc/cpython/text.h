// Python strings as C++ text. A str may contain lone surrogates (a file name that is not UTF-8, a name passed to
// setattr), which UTF-8 cannot represent.
#pragma once
#include <string>
#include <string_view>

#include "cpython/ref.h"

namespace md {

// For messages, logs and names of tables: lone surrogates as \udc80, anything but a str (or null) as "?". Never fails;
// preserves the current exception. Requires the GIL.
std::string text_of(BorrowedRef string);

// The same without a copy, valid while the str lives; its data() is null if the str has
// lone surrogates. Requires the GIL.
std::string_view text_view(BorrowedRef string);

}  // namespace md
