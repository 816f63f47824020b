// The type of compiled functions.
#pragma once
#include "cpython/ref.h"

namespace md {

PyTypeObject* compiled_function_type();

}  // namespace md
