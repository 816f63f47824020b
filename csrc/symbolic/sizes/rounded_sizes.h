// Sizes that a program computes through floats: math.floor(n * 0.5), int(n * 1.5), math.ceil(n / 4).
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

// int(), math.floor(), math.ceil() and math.trunc() of a size scaled by numbers with few binary digits, all exact in
// floats of 53 bits, which is guarded. Null for other computations.
std::optional<Dim> rounded_dim(Tracer& tracer, ScalarOp scalar_op, const std::vector<ValuePtr>& operands);

}  // namespace md
