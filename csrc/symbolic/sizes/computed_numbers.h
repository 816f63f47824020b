// Computations on dynamic numbers, and texts built from them: done at the exit instead of guarded by value.
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

// The computation on operands, at least one of them dynamic; null if all are known, or the type of the result is not
// fixed.
ValuePtr computed(Tracer& tracer, ScalarOp scalar_op, std::vector<ValuePtr> operands);

}  // namespace md
