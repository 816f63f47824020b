// Pure functions of immutable built-in values: evaluated in the trace if all arguments are known.
#pragma once
#include <initializer_list>

#include "symbolic/trace/tracer.h"

namespace md {

void register_pure_call(BorrowedRef callable);
// Those of the names that this version of Python has.
void register_pure_attributes(BorrowedRef owner, std::initializer_list<const char*> names);
bool is_pure_call(BorrowedRef callable);
// Null: an argument is unknown, or the trace cannot hold the result.
ValuePtr fold_pure_call(Tracer& tracer, BorrowedRef callable, const CallArgs& args);
// The value of a folded result: a constant, or a list, dict or set created in the trace. Null: another type.
ValuePtr value_of_result(Tracer& tracer, const Ref& result);

}  // namespace md
