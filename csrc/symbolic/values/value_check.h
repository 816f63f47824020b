// Checks that no value refers to a node that has been deleted.
#pragma once
#include <span>

#include "symbolic/values/value.h"

namespace md {

// Throws Error(Internal) unless the nodes of these values, outputs and all operands are nodes of the graph. A node
// pointer is not dereferenced before it is found in the graph.
void check_values(const Graph& graph, std::span<const ValuePtr> values, std::span<const ValueRef> outputs);

}  // namespace md
