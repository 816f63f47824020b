#include "graph/print_sizes.h"

namespace md {

namespace {

DimVec at_capture(const DimVec& dims) {
  DimVec numbers;
  for (Dim dim : dims) numbers.push_back(dim.hint());
  return numbers;
}

}  // namespace

std::string print_sizes(const Graph& graph) {
  std::string text;
  for (const auto& node : graph.nodes()) {
    for (size_t i = 0; i < node->outs.size(); ++i) {
      const ValueInfo& info = node->outs[i];
      if (info.is_scalar) continue;
      std::string name = node->name;
      if (node->outs.size() > 1) name += str_cat("[", i, "]");
      const DimVec& sizes = info.spec.sizes;
      text += str_cat(name, ": ", str(sizes.span()), "\n");
      if (any_symbolic(sizes.span())) text += str_cat(name, " (concrete): ", str(at_capture(sizes).span()), "\n");
    }
  }
  return text;
}

}  // namespace md
