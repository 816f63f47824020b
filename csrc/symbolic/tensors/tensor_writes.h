// Operations that write to tensors.
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

// x.f_(...): the first positional value is written to and returned.
ValuePtr call_in_place(Tracer& tracer, const OpRow& row, const CallArgs& args);
// f(..., out=t): the op, and a write of its result into t, which is given back.
ValuePtr call_with_out(Tracer& tracer, const OpRow& row, const CallArgs& args, CallForm form);
std::vector<ValuePtr> out_targets(Tracer& tracer, const OpRow& row, const ValuePtr& out);

}  // namespace md
