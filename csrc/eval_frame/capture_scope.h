// Which frames may be roots of a capture. Frames of the standard library, of minidynamo and of the packages in
// skipped_packages.def are inlined but never captured on their own at a break.
#pragma once
#include "cpython/ref.h"

namespace md {

// Folders whose code is never a root; set once at import (absolute, with a trailing separator).
void add_skipped_folder(BorrowedRef path);
bool may_be_root(PyCodeObject* code);
// Reserves the co_extra index; called at import.
void reserve_place_of_decisions();

}  // namespace md
