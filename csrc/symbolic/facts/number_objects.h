// Objects of the program that are given to ops and to tensor() as numbers: their methods in Python are called as Python calls them.
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

enum class NumberUse : uint8_t { Index, Any };  // Index: sizes and dims, which take no __float__

// What the value's __index__, else its __float__, gives; the value itself where it is no such object. Breaks where the method is not
// known, or which of two is called depends on more than their order.
ValuePtr number_of_object(Tracer& tracer, const ValuePtr& value, NumberUse use);
// Of a class with one of these methods, whether or not it is in Python.
bool is_number_object(const ValuePtr& value);

}  // namespace md
