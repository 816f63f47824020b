// Operators of user-defined classes.
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

// Returns true for an instance of a user-defined class, not for a class: operators between classes are those of their
// metaclass, usually type.
bool is_user_object(const ValuePtr& value);
// a == b by the methods of both, as Python evaluates it; nullopt if unknown. Does not check whether they are one
// object.
std::optional<bool> equal_by_methods(Tracer& tracer, const ValuePtr& left, const ValuePtr& right);
// The truth of the value, by calling a __bool__ or __len__ in Python inside the current instruction if it is a user
// object; nullopt if unknown.
std::optional<bool> truth_by_methods(Tracer& tracer, ValuePtr value);
// Breaks if a method that has run since that step has changed the contents of the container.
void break_if_changed(Tracer& tracer, int64_t step, const ValuePtr& container, const std::vector<ValuePtr>& elements);
// The result of hash() for the result of a __hash__ in Python.
Ref hash_by_method(Tracer& tracer, const ValuePtr& value, const ValuePtr& method);
// The functions below inline the method that Python calls first and drop the instruction's operands. They return false
// if they did nothing.
bool inline_operator(Tracer& tracer, const Instruction& at);
// Only the left operand's method, which comes first if the right operand is a tensor.
bool inline_left_operator(Tracer& tracer, const Instruction& at);
bool inline_unary(Tracer& tracer, const char* name);
// __setitem__ and __delitem__.
bool inline_item(Tracer& tracer, const ValuePtr& container, std::vector<ValuePtr> args, const char* name, int operands);

}  // namespace md
