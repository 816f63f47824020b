// Texts of what is no constant: containers, element by element, and objects whose class says in Python what their text is.
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

// format(value, spec), str(value) (conversion 1) or repr(value) (2) where Python asks methods in Python of the value's class or
// of its elements. Null: it is not such a value, or not known.
Ref text_by_parts(Tracer& tracer, const ValuePtr& value, int conversion, BorrowedRef spec);

// The text of a value by format(), after str() (1), repr() (2) or ascii() (3). Null: not known.
Ref formatted_text(Tracer& tracer, const ValuePtr& value, int conversion, BorrowedRef spec);

}  // namespace md
