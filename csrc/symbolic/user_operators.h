// Operators of the user's classes.
#pragma once
#include "symbolic/walk.h"

namespace md {

// Each inlines the method that Python calls first and drops the instruction's operands; false: nothing was done.
// An object of a user's class. No class: what operators do between classes is their metaclass's, type's as a rule.
bool is_user_object(const ValuePtr& value);
bool inline_operator(Walk& walk, const Instruction& at);
bool inline_unary(Walk& walk, const char* name);
// __setitem__ and __delitem__.
bool inline_item(Walk& walk, const ValuePtr& container, std::vector<ValuePtr> args, const char* name, int operands);

}  // namespace md
