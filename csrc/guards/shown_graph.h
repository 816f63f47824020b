// A graph and the family in whose tensors and names backends and logs see it.
#pragma once
#include <memory>

#include "graph/graph.h"

namespace md {

struct TensorFamily;

struct ShownGraph {
  std::shared_ptr<const Graph> graph;
  const TensorFamily* family;
};

}  // namespace md
