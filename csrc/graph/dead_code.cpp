#include "graph/passes.h"

namespace md {
namespace {

// The input whose memory a value lies in, or whose elements a write has copied; null: none.
Node* input_of(const ValueRef& value) {
  Node* node = value.node;
  while (is_op(*node, OpKind::View) || is_op(*node, OpKind::Write)) {
    const auto* viewed = std::get_if<ValueRef>(&node->operands[0]);
    if (viewed == nullptr) return nullptr;
    node = viewed->node;
  }
  return node->kind == NodeKind::TensorInput ? node : nullptr;
}

void note_dropped_reads(const Node& node) {
  if (node.kind != NodeKind::Op || node.op->kind == OpKind::View) return;
  for (const Operand& operand : node.operands)
    for_each_value(operand, [](const ValueRef& value) {
      if (Node* input = input_of(value)) input->has_dropped_reads = true;
    });
}

}  // namespace

std::vector<bool> live_nodes(const Graph& graph, std::span<const ValueRef> outputs) {
  std::vector<bool> live(graph.nodes().size(), false);
  auto mark = [&](const ValueRef& value) { live[static_cast<size_t>(value.node->index)] = true; };
  for (const ValueRef& output : outputs) mark(output);
  for (size_t i = graph.nodes().size(); i-- > 0;) {
    const Node& node = *graph.nodes()[i];
    if (must_run(node)) live[i] = true;
    if (!live[i]) continue;
    for (const Operand& operand : node.operands) for_each_value(operand, mark);
  }
  return live;
}

bool eliminate_dead_code(Graph& graph) {
  std::vector<bool> live = live_nodes(graph, graph.outputs());
  for (const auto& node : graph.nodes())
    if (!live[static_cast<size_t>(node->index)]) note_dropped_reads(*node);
  size_t before = graph.nodes().size();
  graph.retain([&](const Node& node) { return live[static_cast<size_t>(node.index)]; }, false);
  return graph.nodes().size() != before;
}

}  // namespace md
