// Computations on dynamic numbers, and texts built from them: done at the exit instead of guarded by value.
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

// The computation on operands, at least one of them dynamic; null if all are known, or the type of the result is not
// fixed.
ValuePtr computed(Tracer& tracer, ScalarOp scalar_op, std::vector<ValuePtr> operands);
// Adds the guard that the computation has the result that it has now, whatever its operands are. False: no guard can.
bool guard_result(Tracer& tracer, const ComputedValue& value);

}  // namespace md
