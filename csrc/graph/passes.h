// Graph-to-graph passes, run in the order of one array, verified after each if verifies_graphs().
#pragma once
#include <span>
#include <vector>

#include "graph/graph.h"

namespace md {

struct Pass {
  const char* name;
  const char* doc;
  bool (*run)(Graph& graph);  // returns whether it changed anything
};
std::span<const Pass> passes();
// Whether graphs and references into them are verified: in debug builds, or if config.verify_graphs is set.
bool verifies_graphs();
// Runs all passes, in order. Keeps all inputs, also unused ones.
void run_passes(Graph& graph);
// Removes unused inputs; returns the old position of each remaining one.
std::vector<int> drop_unused_inputs(Graph& graph);

// Whether the node can fail or has a value-dependent observable effect: it stays even if its result is unused. An op
// with a run-time int fails if that does not fit into 64 bits.
bool must_run(const Node& node);
// By node index: what these outputs, and nodes that must run, need.
std::vector<bool> live_nodes(const Graph& graph, std::span<const ValueRef> outputs);
// Whether the graph must run even if no result is used.
bool has_effects(const Graph& graph);

// Whether a pass may have an operand read an equal value: Python code may observe the operands of a host call, and what
// is written to stays the value, or the copy, that the program made.
bool may_rewire(const Node& node, size_t operand);
// By node index: new tensors that a write begins with. The write is made in their memory if each run makes them anew,
// and nothing else is that tensor.
std::vector<bool> written_creations(const Graph& graph);

bool eliminate_dead_code(Graph& graph);
bool merge_common_subexpressions(Graph& graph);
bool fold_constants(Graph& graph);
bool simplify_chains(Graph& graph);
bool forward_writes(Graph& graph);

}  // namespace md
