// Which ops can fail when the graph runs. Sizes and dtypes were checked when the op was captured.
#pragma once
#include <span>

#include "graph/graph.h"

namespace md {

// Depending on elements of its tensors or values of run-time scalars: index out of range, integer division by zero, a
// number that no element can hold. outs: the op's results.
bool may_fail(const OpRow& op, std::span<const Operand> operands, std::span<const ValueInfo> outs);

// Whether an operand is a float, or a number.
bool reads_floats(const Node& node);
// Whether it may meet a floating-point exception: it computes with floats, or converts them.
bool may_raise_float_flags(const Node& node);

}  // namespace md
