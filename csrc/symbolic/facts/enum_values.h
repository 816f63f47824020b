// Members of enums that are numbers or texts: IntEnum, class Mode(str, Enum).
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

// The exact int, float or str that the member equals, where its class has these methods of int, float or str as they are there.
// Null: it is no such member.
ValuePtr plain_value(Tracer& tracer, const ValuePtr& value, std::initializer_list<const char*> methods);
// The value itself if it is no such member.
ValuePtr plain_or_itself(Tracer& tracer, const ValuePtr& value, std::initializer_list<const char*> methods);
// Its text by str(), where its class shows it as the number or text that it equals. Null: another way, or no such member.
Ref member_text(Tracer& tracer, const ValuePtr& value);
// Operands that are members of an enum of numbers or texts, as what they equal where the operator is that of the number or text.
void open_members(Tracer& tracer, const Instruction& at, ValuePtr& left, ValuePtr& right);
// What a look-up in a container goes by: a member of an enum of texts finds the text that it equals.
Ref lookup_key(Tracer& tracer, const ValuePtr& container, const ValuePtr& key);

}  // namespace md
