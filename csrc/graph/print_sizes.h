// The sizes of the values in a graph, for the log.
#pragma once
#include <string>

#include "graph/graph.h"

namespace md {

// One line per tensor, `name: (s0, 3)`; if a size is symbolic, a second line with the sizes at capture.
std::string print_sizes(const Graph& graph);

}  // namespace md
