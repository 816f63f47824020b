// Objects that a library makes of a tensor at each read of an attribute, and that stand for it: NumPy's flat and flags.
// Their methods and fields are callables of the family, called with the tensor.
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

struct TensorAttribute;

ValuePtr make_part(Tracer& tracer, const ValuePtr& tensor, const TensorAttribute& attribute);
// What the class of such an object has under this name; null: the value is none, or nothing is known of the name.
BorrowedRef member_of_part(const ValuePtr& value, BorrowedRef name);
// The result of such a method or field; null likewise.
ValuePtr call_member_of_part(Tracer& tracer, const ValuePtr& value, const char* name, std::vector<ValuePtr> more = {});
// Over what iter() of such an object goes; null likewise. The object is then at its end.
ValuePtr iterated_part(Tracer& tracer, const ValuePtr& value);

}  // namespace md
