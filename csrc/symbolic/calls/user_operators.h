// Operators of the user's classes.
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

// Each inlines the method that Python calls first and drops the instruction's operands; false: nothing was done.
// An object of a user's class. No class: what operators do between classes is their metaclass's, type's as a rule.
bool is_user_object(const ValuePtr& value);
// a == b as Python finds it out by the methods of both; no answer: not known. Whether they are one object is not asked.
std::optional<bool> equal_by_methods(Tracer& tracer, const ValuePtr& left, const ValuePtr& right);
// Its truth, asked of a __bool__ or __len__ in Python where it is a user's object, inside the current instruction; no answer: not known.
std::optional<bool> truth_by_methods(Tracer& tracer, ValuePtr value);
// Breaks if a method that has run since that step has changed what the container holds.
void break_if_changed(Tracer& tracer, int64_t step, const ValuePtr& container, const std::vector<ValuePtr>& elements);
// What hash() makes of the result of a __hash__ in Python.
Ref hash_by_method(Tracer& tracer, const ValuePtr& value, const ValuePtr& method);
bool inline_operator(Tracer& tracer, const Instruction& at);
// The same of the left operand alone, whose method comes first where the right one is a tensor.
bool inline_left_operator(Tracer& tracer, const Instruction& at);
bool inline_unary(Tracer& tracer, const char* name);
// __setitem__ and __delitem__.
bool inline_item(Tracer& tracer, const ValuePtr& container, std::vector<ValuePtr> args, const char* name, int operands);

}  // namespace md
