// Simplifies casts of casts and transposes of transposes. Rewires only uses by ops: an output remains the same tensor.
#include "graph/passes.h"

namespace md {
namespace {

// Every value of `from` is representable in `to`, so a further cast has the same result.
bool is_widening(DType from, DType to) {
  if (from == to) return true;
  const DTypeRow &narrow = row(from), &wide = row(to);
  if (is_floating(from)) {
    return is_floating(to) && narrow.digits < wide.digits && narrow.exponent_bits <= wide.exponent_bits;
  }
  if (is_floating(to)) return to != DType::float16 && narrow.digits <= wide.digits;
  return narrow.digits <= wide.digits && (!narrow.is_signed || wide.is_signed) && to != DType::bool_;
}

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

}  // namespace

bool simplify_chains(Graph& graph) {
  std::vector<ValueRef> replacement(graph.nodes().size());
  bool changed = false;
  for (const auto& node : graph.nodes()) {
    // Python code may observe the operands of a host call: not rewired.
    bool may_rewire = !is_op(*node, OpKind::HostCall);
    for (Operand& operand : node->operands) {
      for_each_value(operand, [&](ValueRef& value) {
        ValueRef other = replacement[static_cast<size_t>(value.node->index)];
        if (other.node == nullptr || !may_rewire) return;
        value = other;
        changed = true;
      });
    }
    changed |= shorten_cast(graph, *node);
    replacement[static_cast<size_t>(node->index)] = undone_transposes(graph, *node);
  }
  return changed;
}

}  // namespace md
