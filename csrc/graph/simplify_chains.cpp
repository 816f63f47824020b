// Simplifies casts of casts, transposes of transposes and copies that nothing keeps. Rewires only uses by ops: an
// output remains the same tensor.
#include "graph/passes.h"

#include <algorithm>

#include "graph/views.h"

namespace md {
namespace {

// The operand of a cast or transpose.
ValueRef source_of(const Node& node) { return std::get<ValueRef>(node.operands[0]); }

bool has_source(const Node& node) {
  return node.kind == NodeKind::Op && !node.operands.empty() && std::holds_alternative<ValueRef>(node.operands[0]) &&
         !source_of(node).node->outs[0].is_scalar;
}

// cast(cast(x, wider), y) is cast(x, y); a cast to bool tests for zero, which every widening preserves.
bool shorten_cast(const Graph& graph, Node& node) {
  if (!has_source(node) || node.op->kind != OpKind::Cast) return false;
  const Node& inner = *source_of(node).node;
  if (!has_source(inner) || inner.op != node.op) return false;
  ValueRef origin = source_of(inner);
  if (!is_widening(graph.info(origin).spec.dtype, inner.outs[0].spec.dtype)) return false;
  // Same result layout: both preserve the layout of their operand.
  if (!same(graph.info(origin).spec.strides, inner.outs[0].spec.strides)) return false;
  node.operands[0] = origin;
  return true;
}

// If the composed view is the identity, returns the original value.
ValueRef undone_transposes(const Graph& graph, const Node& node) {
  auto is_swap = [](const Node& view) { return is_op(view, OpRole::Permutation); };
  if (!has_source(node) || !is_swap(node)) return {};
  const Node& inner = *source_of(node).node;
  if (!has_source(inner) || !is_swap(inner)) return {};
  ValueRef origin = source_of(inner);
  const TensorSpec& before = graph.info(origin).spec;
  const TensorSpec& after = node.outs[0].spec;
  // A permutation that preserves sizes and strides is the identity on elements; an ambiguous stride has size 1 or 0.
  if (!same(before.sizes, after.sizes) || !same(before.strides, after.strides)) return {};
  if (any_symbolic(before.sizes.span()) || before.requires_grad != after.requires_grad) return {};
  return origin;
}

// By node index: whether an operation with a history reads it, or a view of it, so that its backward may.
std::vector<bool> read_with_history(const Graph& graph) {
  auto has_history = [](const ValueInfo& info) { return !info.is_scalar && info.spec.requires_grad; };
  std::vector<std::vector<Node*>> users = graph.all_users();
  std::vector<bool> is_read(graph.nodes().size());
  for (size_t i = graph.nodes().size(); i-- > 0;) {
    is_read[i] = std::ranges::any_of(users[i], [&](const Node* user) {
      bool views = is_op(*user, OpKind::View) && is_read[static_cast<size_t>(user->index)];
      return views || std::ranges::any_of(user->outs, has_history);
    });
  }
  return is_read;
}

// A value does not change: what reads a copy that lies as the value may read the value. But what a backward reads must
// outlive the run, after which the program may write into its inputs and outputs.
ValueRef copied(const Graph& graph, const Node& node, const std::vector<bool>& escapes,
                const std::vector<bool>& has_backward) {
  bool is_copy = is_op(node, OpRole::Copy);
  if (!is_copy && !is_op(node, OpRole::Clone)) return {};
  const auto* source = std::get_if<ValueRef>(&node.operands[is_copy ? 1 : 0]);
  if (source == nullptr || graph.info(*source).is_scalar) return {};
  // A copy of part of another value stays: where it is written into a window, it is made there.
  const auto* target = std::get_if<ValueRef>(&node.operands[0]);
  bool is_itself = target != nullptr && *target == *source;
  if (is_copy && !is_itself && is_op(*source->node, OpKind::View)) return {};
  const TensorSpec& before = graph.info(*source).spec;
  const TensorSpec& after = node.outs[0].spec;
  bool lies_alike =
      before.dtype == after.dtype && same(before.sizes, after.sizes) && same(before.strides, after.strides);
  ValueRef root = *source;
  for (ValueRef viewed; (viewed = viewed_by(root)).node != nullptr;) root = viewed;
  bool is_reachable = root.node->kind == NodeKind::TensorInput || escapes[static_cast<size_t>(root.node->index)];
  if (is_reachable && (after.requires_grad || has_backward[static_cast<size_t>(node.index)])) return {};
  return lies_alike && before.requires_grad == after.requires_grad ? *source : ValueRef{};
}

}  // namespace

bool simplify_chains(Graph& graph) {
  std::vector<ValueRef> replacement(graph.nodes().size());
  std::vector<bool> escapes = graph.escaping(), has_backward = read_with_history(graph);
  bool changed = false;
  for (const auto& node : graph.nodes()) {
    for (size_t i = 0; i < node->operands.size(); ++i) {
      for_each_value(node->operands[i], [&](ValueRef& value) {
        ValueRef other = replacement[static_cast<size_t>(value.node->index)];
        if (other.node == nullptr || !may_rewire(*node, i)) return;
        value = other;
        changed = true;
      });
    }
    changed |= shorten_cast(graph, *node);
    ValueRef origin = undone_transposes(graph, *node);
    // An output's views are views of the copy.
    if (origin.node == nullptr && !escapes[static_cast<size_t>(node->index)])
      origin = copied(graph, *node, escapes, has_backward);
    replacement[static_cast<size_t>(node->index)] = origin;
  }
  return changed;
}

}  // namespace md
