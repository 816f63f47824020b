#include "graph/cut.h"

#include <algorithm>

#include "graph/symbols.h"

namespace md {
namespace {

bool share_any(const SymbolList& a, const SymbolList& b) {
  return std::ranges::any_of(a.symbols(), [&](Dim symbol) { return b.find(symbol) >= 0; });
}

// Position of the first node that needs an unbacked size produced by an earlier op, or that may run once only and so
// not before what is asserted of such a size; one past the end if only a runtime assertion needs one.
std::optional<size_t> first_in_need(const Graph& graph) {
  SymbolList told, asserted;
  for (const RuntimeAssert& each : graph.runtime_asserts())
    for (Dim side : {each.a, each.b}) asserted.add(side);
  for (const auto& node : graph.nodes()) {
    SymbolList needed;
    add_symbols(needed, *node);
    bool is_checked_first = is_made_once(*node) && share_any(asserted, told);
    if (is_checked_first || share_any(needed, told)) return static_cast<size_t>(node->index);
    if (node->kind == NodeKind::Op) told.add(node->size);
  }
  if (share_any(symbols_of(graph), told)) return graph.nodes().size();
  return std::nullopt;
}

// Values of ops before the cut that are used after it or define a size, without duplicates.
std::vector<ValueRef> values_across(const Graph& graph, size_t at) {
  std::vector<ValueRef> across;
  auto add = [&](const ValueRef& value) {
    bool is_before = value.node->kind == NodeKind::Op && static_cast<size_t>(value.node->index) < at;
    if (is_before && std::ranges::find(across, value) == across.end()) across.push_back(value);
  };
  for (const auto& node : graph.nodes()) {
    if (static_cast<size_t>(node->index) < at) {
      if (node->size.is_symbolic()) add({node.get(), 0});
      continue;
    }
    for (const Operand& operand : node->operands) for_each_value(operand, add);
  }
  for (const ValueRef& output : graph.outputs()) add(output);
  return across;
}

std::unique_ptr<Graph> part_before(const Graph& graph, size_t at, const std::vector<ValueRef>& across) {
  std::unique_ptr<Graph> part = graph.clone();
  part->set_runtime_asserts({});
  std::vector<ValueRef> outputs = across;
  for (ValueRef& output : outputs) output.node = part->nodes()[static_cast<size_t>(output.node->index)].get();
  part->set_outputs(std::move(outputs));
  part->retain([&](const Node& node) { return static_cast<size_t>(node.index) < at; }, false);
  return part;
}

std::unique_ptr<Graph> part_after(const Graph& graph, size_t at, const std::vector<ValueRef>& across) {
  std::unique_ptr<Graph> part = graph.clone();
  std::vector<ValueRef> values = across;
  for (ValueRef& value : values) value.node = part->nodes()[static_cast<size_t>(value.node->index)].get();
  for (const ValueRef& value : values) {
    Node* input = part->prepend_tensor_input(value.node->name, part->info(value).spec);
    input->size = value.node->size;
    part->replace_uses(value, {input, 0});
  }
  size_t first_kept = at + values.size();
  part->retain(
      [&](const Node& node) {
        return node.kind == NodeKind::TensorConst || static_cast<size_t>(node.index) >= first_kept;
      },
      false);
  return part;
}

}  // namespace

std::optional<CutGraph> cut_at_unbacked_sizes(const Graph& graph) {
  std::optional<size_t> at = first_in_need(graph);
  if (!at) return std::nullopt;
  std::vector<ValueRef> across = values_across(graph, *at);
  return CutGraph{part_before(graph, *at, across), part_after(graph, *at, across)};
}

}  // namespace md
