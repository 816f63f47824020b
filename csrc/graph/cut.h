// Graphs in which some sizes are numbers out of tensors: cut in two where these numbers are known.
#pragma once
#include <memory>
#include <optional>

#include "graph/graph.h"

namespace md {

struct CutGraph {
  std::shared_ptr<const Graph> first;  // takes what the whole graph takes
  std::shared_ptr<const Graph>
      second;  // takes the same and then what the first one gives; gives what the whole one gives
};
// In front of the first node that needs such a size; what is before it stays before it. No answer: no node needs one.
std::optional<CutGraph> cut_at_told_sizes(const Graph& graph);

}  // namespace md
