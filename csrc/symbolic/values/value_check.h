// The check that no value outlives the node that it stands for.
#pragma once
#include <span>

#include "symbolic/values/value.h"

namespace md {

// Throws Error(Internal) unless the nodes that these values, outputs and all operands refer to are nodes of the graph. What is
// referred to is not looked into before it is found there.
void check_values(const Graph& graph, std::span<const ValuePtr> values, std::span<const ValueRef> outputs);

}  // namespace md
