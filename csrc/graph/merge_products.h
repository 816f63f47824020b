// Products of the slices of one tensor with the same matrix as one product of the whole tensor, as a recurrent layer that is
// written as a loop over time has them.
#pragma once
#include "graph/graph.h"

namespace md {

// A graph with the same inputs and results, where each of those products is a slice of the whole one; null when there are
// none. For lowering: people are shown the graph that they wrote.
std::unique_ptr<Graph> merge_products(const Graph& graph);

}  // namespace md
