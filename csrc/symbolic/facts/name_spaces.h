// The namespaces in which a frame looks names up.
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

// The function object whose globals the running frame uses, with its source.
ObjectValue* globals_function(Tracer& tracer);
// The value of a global or builtin name; a NameError, left to the interpreter, if it is neither.
ValuePtr global_value(Tracer& tracer, BorrowedRef name);
ValuePtr builtin_value(Tracer& tracer, ObjectValue* function, BorrowedRef name);
// The loaded module of this name, as the import statement finds it. Null if there is none, or this region may have
// stored it.
ValuePtr loaded_module(Tracer& tracer, BorrowedRef name);
// vars()
ValuePtr names_of_frame(Tracer& tracer);
// globals()
ValuePtr call_globals(Tracer& tracer, const CallArgs& args);

}  // namespace md
