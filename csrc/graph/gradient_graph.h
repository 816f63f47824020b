// The graph of a graph's gradients.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "graph/graph.h"
#include "tensor/dim_code.h"

namespace md {

// Computes the gradients of tensor inputs from those of outputs. Its inputs are, in this order: inputs of the forward
// graph, results of its ops that the rules read, and a contiguous gradient for each output that has one.
struct GradientGraph {
  std::shared_ptr<Graph> graph;
  std::vector<int> inputs;        // positions among the inputs of the forward graph
  std::vector<ValueRef> saved;    // results of the forward graph
  std::vector<ValueRef> reached;  // results of the forward graph that gradients arrive at
  std::vector<int> outputs;       // by input of the forward graph: its gradient among the outputs; -1: none arrives
};

// What gradients rely on of symbolic sizes beyond what follows from their expressions: `relations` hold whenever the
// graph runs. Where a rule needs another one between symbols of `may_guard`, it is added, for its user to guard.
struct ReliedSizes {
  std::vector<SizeRelation> relations;
  const SymbolList* may_guard = nullptr;
};

// has_gradient: by output. Raises Error for an op without a derivative, and where a rule needs a number that is known
// at run time only, or a relation that may not be added.
GradientGraph gradient_graph(const Graph& forward, std::span<const bool> has_gradient, ReliedSizes& relied);

}  // namespace md
