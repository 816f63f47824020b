// Operators of the user's classes.
#pragma once
#include "symbolic/walk.h"

namespace md {

// Each inlines the method that Python calls first and drops the instruction's operands; false: nothing was done.
bool inline_operator(Walk& walk, const Instruction& at);
bool inline_unary(Walk& walk, const char* name);
// __setitem__ and __delitem__.
bool inline_item(Walk& walk, const ValuePtr& container, std::vector<ValuePtr> args, const char* name, int operands);

// iter(value) inside of a builtin, which waits for a user's __iter__; null: not known.
ValuePtr iterator_for_builtin(Walk& walk, const ValuePtr& value);

}  // namespace md
