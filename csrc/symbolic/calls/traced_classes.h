// Traced classes: attribute look-up.
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

// The attribute of this name in the class's MRO, from `first` on, not bound. Null if there is none.
ValuePtr made_attribute(Tracer& tracer, const TracedClass& made, BorrowedRef name, Py_ssize_t first = 0);
ValuePtr outside_class(Tracer& tracer, const TracedClass& made, BorrowedRef type);

}  // namespace md
