// Classes that the trace makes: what they have.
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

// What it or a class behind it, from `first` on in its MRO, holds under the name, not bound. Null: nothing.
ValuePtr made_attribute(Tracer& tracer, const TracedClass& made, BorrowedRef name, Py_ssize_t first = 0);
ValuePtr outside_class(Tracer& tracer, const TracedClass& made, BorrowedRef type);

}  // namespace md
