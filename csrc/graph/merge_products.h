// Merges products of slices of one tensor with the same matrix into one product of the whole tensor, as in a recurrent
// layer written as a loop over time.
#pragma once
#include "graph/graph.h"

namespace md {

// Returns a graph with the same inputs and results, where each of those products is a slice of the merged one; null if
// there are none. For lowering only: users are shown their original graph.
std::unique_ptr<Graph> merge_products(const Graph& graph);

}  // namespace md
