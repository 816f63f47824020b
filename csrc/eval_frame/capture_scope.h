// Which frames may become roots of a capture. Frames of the standard library, of minidynamo and of the packages in
// skipped_packages.def are inlined but never captured as their own frames at a break.
#pragma once
#include "cpython/ref.h"

namespace md {

// Folders whose code is never a root, one row each; installed once at import (absolute, with a trailing separator).
void add_skipped_folder(BorrowedRef path);
bool may_be_root(PyCodeObject* code);
// In co_extra, at import.
void reserve_place_of_decisions();

}  // namespace md
