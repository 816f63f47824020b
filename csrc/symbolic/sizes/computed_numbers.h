// Numbers, and text made of them, that differ from run to run: computed at the exit instead of guarded by value.
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

// The computation on operands of which one varies; null: they all are known, or its result's type is not fixed.
ValuePtr computed(Tracer& tracer, ScalarOp scalar_op, std::vector<ValuePtr> operands);

}  // namespace md
