// The type of compiled functions.
#pragma once
#include "cpython/ref.h"
#include "eval_frame/compiled_call.h"

namespace md {

PyTypeObject* compiled_function_type();
// Raises TypeError for anything else.
const CompileOptions& compile_options_of(BorrowedRef compiled);

}  // namespace md
