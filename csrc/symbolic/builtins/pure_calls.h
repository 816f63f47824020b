// Functions of built-in immutable values without side effects: evaluated while tracing when all arguments are known.
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

void register_pure_call(BorrowedRef callable);
bool is_pure_call(BorrowedRef callable);
// Null: an argument is not known, or the result is not a value that a trace can hold.
ValuePtr fold_pure_call(Tracer& tracer, BorrowedRef callable, const CallArgs& args);
// A value for the result of a folded operation: a constant, or a list, dict or set made here. Null: of another type.
ValuePtr value_of_result(Tracer& tracer, const Ref& result);

}  // namespace md
