// Where a frame looks names up.
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

// The function object whose globals the running frame sees, with its source.
ObjectValue* globals_function(Tracer& tracer);
// The value of a name there, or among the builtins; an error of Python's where it is in neither.
ValuePtr global_value(Tracer& tracer, BorrowedRef name);
ValuePtr builtin_value(Tracer& tracer, ObjectValue* function, BorrowedRef name);
// The module that is loaded under the name, as the import statement finds it. Null: none, or one that this region may have put there.
ValuePtr loaded_module(Tracer& tracer, BorrowedRef name);
// vars()
ValuePtr names_of_frame(Tracer& tracer);
// globals()
ValuePtr call_globals(Tracer& tracer, const CallArgs& args);

}  // namespace md
