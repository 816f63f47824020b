// Enum members that are numbers or texts: IntEnum, class Mode(str, Enum).
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

// The exact int, float or str equal to the member, if its class inherits these methods from int, float or str
// unchanged. Null otherwise.
ValuePtr plain_value(Tracer& tracer, const ValuePtr& value, std::initializer_list<const char*> methods);
// The value itself if it is not such a member.
ValuePtr plain_or_itself(Tracer& tracer, const ValuePtr& value, std::initializer_list<const char*> methods);
// str() of a member whose class uses the text of the number or text that it equals. Null otherwise.
Ref member_text(Tracer& tracer, const ValuePtr& value);
// Replaces operands that are such members by what they equal, if the operator is that of the number or text.
void open_members(Tracer& tracer, const Instruction& at, ValuePtr& left, ValuePtr& right);
// The key for a look-up in a container: a member of a text enum finds the text that it equals.
Ref lookup_key(Tracer& tracer, const ValuePtr& container, const ValuePtr& key);

}  // namespace md
