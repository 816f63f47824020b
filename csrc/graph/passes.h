// Passes: graph to graph, run in the order of one array, verified after each where verifies_graphs() says so.
#pragma once
#include <span>
#include <vector>

#include "graph/graph.h"

namespace md {

struct Pass {
  const char* name;
  const char* doc;
  bool (*run)(Graph& graph);  // true when it changed something
};
std::span<const Pass> passes();
// Whether graphs and what refers to them are checked: in debug builds, or as config.verify_graphs says.
bool verifies_graphs();
// All passes, in order. Inputs stay, also unused ones.
void run_passes(Graph& graph);
// Removes inputs that nothing uses; returns, for each that stays, its old position.
std::vector<int> drop_unused_inputs(Graph& graph);

// True when the node can fail, or be seen, depending on values: it stays although its result is unused. An op's int from the
// caller fails where it does not fit 64 bits.
bool must_run(const Node& node);
// Whether the graph is to be run although nobody asks for a result.
bool has_effects(const Graph& graph);

bool eliminate_dead_code(Graph& graph);
bool merge_common_subexpressions(Graph& graph);
bool fold_constants(Graph& graph);
bool simplify_chains(Graph& graph);

}  // namespace md
