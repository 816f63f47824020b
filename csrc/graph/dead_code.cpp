#include "graph/passes.h"

namespace md {

bool eliminate_dead_code(Graph& graph) {
  std::vector<bool> live(graph.nodes().size(), false);
  auto mark = [&](const ValueRef& value) { live[static_cast<size_t>(value.node->index)] = true; };
  for (const ValueRef& output : graph.outputs()) mark(output);
  for (size_t i = graph.nodes().size(); i-- > 0;) {
    const Node& node = *graph.nodes()[i];
    if (must_run(node)) live[i] = true;
    if (!live[i]) continue;
    for (const Operand& operand : node.operands) for_each_value(operand, mark);
  }
  size_t before = graph.nodes().size();
  graph.retain([&](const Node& node) { return live[static_cast<size_t>(node.index)]; }, false);
  return graph.nodes().size() != before;
}

}  // namespace md
