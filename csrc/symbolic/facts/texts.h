// Texts of values that are not constants: containers, element by element, and objects whose class defines the text in
// Python.
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

// format(value, spec), str(value) (conversion 1) or repr(value) (2) if it runs Python methods of the value's class or
// of its elements. Null if it is not such a value, or unknown.
Ref text_by_parts(Tracer& tracer, const ValuePtr& value, int conversion, BorrowedRef spec);

// The text of a value by format(), after str() (1), repr() (2) or ascii() (3). Null if unknown.
Ref formatted_text(Tracer& tracer, const ValuePtr& value, int conversion, BorrowedRef spec);

// Returns true for a date or time, whose format depends on the locale of the process.
bool is_formatted_by_locale(BorrowedRef constant);

}  // namespace md
