// Operations that write to tensors.
#pragma once
#include "frontends/tensor_language.h"
#include "symbolic/trace/tracer.h"

namespace md {

// Whether the row may write its result into its first operand: as a method, or as an operator of a type that has x @=
// y, say.
bool has_in_place_form(const OpRow& row);
// x.f_(...): writes to the first positional value and returns it.
ValuePtr call_in_place(Tracer& tracer, const OpRow& row, const CallArgs& args);
// f(..., out=t): runs the op, writes its result into t and returns t.
ValuePtr call_with_out(Tracer& tracer, const OpRow& row, const CallArgs& args, CallForm form);
// Of a stand-in that writes its first argument: ends the region before the call if others are views of it that the
// library reads while it writes.
void check_stand_in_writes(Tracer& tracer, const TensorCallable& callable, const CallArgs& args);
std::vector<ValuePtr> out_targets(Tracer& tracer, const OpRow& row, const ValuePtr& out);

}  // namespace md
