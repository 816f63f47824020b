// A wrapper (classmethod, staticmethod, property, PolicyFunction) copies, when it is made, what its function shows of itself. It is
// made anew when the region is left, and by then a function made inside may show something else. A function from outside does
// not: what wrappers copy of it is stored by Python, or after everything is made.
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

// What an object of the type copies of the function, as it is now.
ShownNames names_to_copy(Tracer& tracer, PyTypeObject* wrapper, const ValuePtr& function);
// The same of update_wrapper, which copies the function's __dict__ as well.
ShownNames names_to_update(Tracer& tracer, const ValuePtr& callable);
// What the function shows by the name while nothing was stored there; null: that depends on its globals.
Ref name_by_code(const FunctionValue& function, BorrowedRef name);

}  // namespace md
