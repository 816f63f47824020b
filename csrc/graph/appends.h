// Concatenations that may append to their first operand in place (tensor/simd/room.h).
#pragma once
#include <memory>
#include <vector>

#include "graph/graph.h"

namespace md {

// A cat whose first operand is an input that nothing else reads, and whose result is an output of which no view leaves
// the graph, so that only the graph's own steps see its place in memory.
struct Append {
  const Node* node = nullptr;
  const Node* input = nullptr;
  int dim = 0;
  bool is_spread() const;  // several positions before dim: then the strides of the result tell the capacity
};
std::vector<Append> find_appends(const Graph& graph);
// The positions along its dim for which the result's strides have room; the extent itself where they do not tell.
int64_t capacity_of(const Append& append, const TensorSpec& spec);

// A graph in which the results of spread appends lie in memory with room: their strides and those of their views
// contain a symbol of their own for the capacity.
struct GraphWithRoom {
  struct Capacity {
    Dim symbol;
    Dim total;  // positions of the result
    int input = -1, dim = -1;
  };
  std::shared_ptr<const Graph> graph;
  std::vector<Capacity> capacities;
};
// Without capacities: no view of such a result would have these strides, or none is spread.
GraphWithRoom with_room(const std::shared_ptr<const Graph>& graph);

}  // namespace md
