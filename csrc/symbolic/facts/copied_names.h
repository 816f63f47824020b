// A wrapper (classmethod, staticmethod, property, PolicyFunction) copies introspectable attributes of its function when
// it is created. It is rebuilt at the exit, when a function created in the trace may show other values. A pre-existing
// function does not: stores to the copied attributes are left to the interpreter, or applied after everything is
// rebuilt.
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

// The attributes that an object of the type copies from the function, with their current values.
ShownNames names_to_copy(Tracer& tracer, PyTypeObject* wrapper, const ValuePtr& function);
// Likewise for update_wrapper, which also copies the function's __dict__.
ShownNames names_to_update(Tracer& tracer, const ValuePtr& callable);
// The initial value of the attribute, according to the code object; null if it depends on the globals.
Ref name_by_code(const FunctionValue& function, BorrowedRef name);

}  // namespace md
