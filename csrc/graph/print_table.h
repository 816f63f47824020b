// A graph as a table, one row per node: opcode, name, target, args, kwargs, as torch.fx prints them.
#pragma once
#include <string>

#include "graph/graph.h"

namespace md {

std::string print_table(const Graph& graph);

}  // namespace md
