// Passes: graph to graph, run in the order of one array, verified after each in debug builds.
#pragma once
#include <span>

#include "graph/graph.h"

namespace md {

struct Pass {
  const char* name;
  const char* doc;
  bool (*run)(Graph& graph);  // true when it changed something
};
std::span<const Pass> passes();
void run_passes(Graph& graph);

}  // namespace md
