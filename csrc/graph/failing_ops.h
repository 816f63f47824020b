// Which ops can fail when the graph runs. Sizes and dtypes were looked at when the op was captured.
#pragma once
#include <span>

#include "graph/graph.h"

namespace md {

// For some elements of its tensors or values of run-time scalars: an index outside, integers divided by zero, a number
// that no element can hold. outs: what the op gives.
bool may_fail(const OpRow& op, std::span<const Operand> operands, std::span<const ValueInfo> outs);

}  // namespace md
