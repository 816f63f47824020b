// The border where C++ exceptions become Python's.
#pragma once
#include "base/error.h"
#include "cpython/ref.h"

namespace md {

// To be called in a catch block only: sets the Python exception that the caught C++ exception stands for.
// PythonError keeps the one that is set already. GIL held.
void set_error_from_current_exception() noexcept;

}  // namespace md
