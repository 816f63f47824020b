// The sizes of what a graph computes, for the log.
#pragma once
#include <string>

#include "graph/graph.h"

namespace md {

// One line for each tensor, `name: (s0, 3)`; where a size is symbolic, another with the sizes at capture.
std::string print_sizes(const Graph& graph);

}  // namespace md
