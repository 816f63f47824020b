// Objects of the program passed as numbers to ops and to tensor(): their methods in Python are called as Python calls
// them.
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

enum class NumberUse : uint8_t { Index, Any };  // Index: sizes and dims, which do not accept __float__

// The result of the value's __index__, or else its __float__; the value itself if it is not such an object. Breaks if
// the method is unknown, or the choice between two depends on more than their order.
ValuePtr number_of_object(Tracer& tracer, const ValuePtr& value, NumberUse use);
// Returns true if the class has one of these methods, in Python or not.
bool is_number_object(const ValuePtr& value);

}  // namespace md
