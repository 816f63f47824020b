// Operations that write to tensors.
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

// Whether the row may write its result into its first operand: as a method, or as an operator of a type that has x @=
// y, say.
bool has_in_place_form(const OpRow& row);
// x.f_(...): writes to the first positional value and returns it.
ValuePtr call_in_place(Tracer& tracer, const OpRow& row, const CallArgs& args);
// f(..., out=t): runs the op, writes its result into t and returns t.
ValuePtr call_with_out(Tracer& tracer, const OpRow& row, const CallArgs& args, CallForm form);
std::vector<ValuePtr> out_targets(Tracer& tracer, const OpRow& row, const ValuePtr& out);

}  // namespace md
