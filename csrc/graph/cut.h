// Graphs with unbacked sizes (read from tensors): cut in two where these sizes are known.
#pragma once
#include <memory>
#include <optional>

#include "graph/graph.h"

namespace md {

struct CutGraph {
  std::shared_ptr<const Graph> first;  // inputs: those of the whole graph
  std::shared_ptr<const Graph>
      second;  // inputs: the original inputs, then the outputs of `first`; outputs: the original outputs
};
// Cuts before the first node that needs such a size; nodes before it stay in the first
// part. nullopt if no node needs one.
std::optional<CutGraph> cut_at_unbacked_sizes(const Graph& graph);

}  // namespace md
