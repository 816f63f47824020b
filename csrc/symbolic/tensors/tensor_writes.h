// Operations that write to tensors.
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

// x.f_(...): the first positional value is written to and returned.
ValuePtr call_in_place(Walk& walk, const OpRow& row, const CallArgs& args);
// f(..., out=t): the op, and a write of its result into t, which is given back.
ValuePtr call_with_out(Walk& walk, const OpRow& row, const CallArgs& args, CallForm form);
std::vector<ValuePtr> out_targets(Walk& walk, const OpRow& row, const ValuePtr& out);

}  // namespace md
