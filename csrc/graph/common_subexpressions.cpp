// Computes equal pure ops on equal operands once. A node whose storage escapes is kept: eager Python creates two
// tensors there, which a later write must not alias.
#include <bit>

#include "graph/passes.h"

namespace md {
namespace {

size_t combine(size_t seed, size_t value) { return seed * 0x9E3779B97F4A7C15u + value + (seed >> 29); }

size_t hash_value(const ValueRef& value) {
  return combine(static_cast<size_t>(value.node->index), static_cast<size_t>(value.out));
}

size_t hash_operand(const Operand& operand) {
  size_t hash = operand.index();
  for_each_value(operand, [&](const ValueRef& value) { hash = combine(hash, hash_value(value)); });
  if (const auto* scalar = std::get_if<Scalar>(&operand)) {
    if (scalar->is_symbolic()) return combine(hash, static_cast<size_t>(scalar->as_dim().hint()));
    return combine(hash, std::bit_cast<uint64_t>(scalar->as_double()));
  }
  if (const auto* dims = std::get_if<DimVec>(&operand)) {
    for (Dim dim : *dims) hash = combine(hash, static_cast<size_t>(dim.hint()));
  }
  if (const auto* dtype = std::get_if<DType>(&operand)) return combine(hash, static_cast<size_t>(*dtype));
  if (const auto* text = std::get_if<std::string>(&operand)) return combine(hash, std::hash<std::string>()(*text));
  return hash;
}

bool equal_operands(const Operand& a, const Operand& b) {
  if (a.index() != b.index()) return false;
  if (const auto* value = std::get_if<ValueRef>(&a)) return *value == std::get<ValueRef>(b);
  if (const auto* list = std::get_if<std::vector<ValueRef>>(&a)) return *list == std::get<std::vector<ValueRef>>(b);
  if (const auto* scalar = std::get_if<Scalar>(&a)) return identical(*scalar, std::get<Scalar>(b));
  if (const auto* dims = std::get_if<DimVec>(&a)) return same(*dims, std::get<DimVec>(b));
  if (const auto* dtype = std::get_if<DType>(&a)) return *dtype == std::get<DType>(b);
  if (const auto* text = std::get_if<std::string>(&a)) return *text == std::get<std::string>(b);
  return true;
}

size_t hash_node(const Node& node) {
  if (node.kind == NodeKind::TensorConst) return std::hash<const void*>()(node.constant.impl());
  size_t hash = std::hash<const void*>()(node.op);
  for (const Operand& operand : node.operands) hash = combine(hash, hash_operand(operand));
  return hash;
}

bool equal_nodes(const Node& a, const Node& b) {
  if (a.kind != b.kind || a.op != b.op || a.operands.size() != b.operands.size()) return false;
  if (a.kind == NodeKind::TensorConst) return is_same(a.constant, b.constant);
  for (size_t i = 0; i < a.operands.size(); ++i) {
    if (!equal_operands(a.operands[i], b.operands[i])) return false;
  }
  // The grad mode at capture may differ.
  for (size_t i = 0; i < a.outs.size(); ++i) {
    if (a.outs[i].spec.requires_grad != b.outs[i].spec.requires_grad) return false;
  }
  return true;
}

// A write stays where the program makes it: whether a failure leaves it undone depends on that.
bool may_merge(const Node& node) {
  return node.kind == NodeKind::TensorConst || (node.kind == NodeKind::Op && node.op->is_pure() &&
                                                node.op->kind != OpKind::Write && !node.size.is_symbolic());
}

}  // namespace

bool merge_common_subexpressions(Graph& graph) {
  std::vector<bool> escapes = graph.escaping(), written = written_creations(graph);
  std::vector<Node*> replacement(graph.nodes().size(), nullptr);
  std::unordered_multimap<size_t, Node*> seen;
  seen.reserve(graph.nodes().size());
  bool changed = false;
  for (const auto& node : graph.nodes()) {
    for (Operand& operand : node->operands) {
      for_each_value(operand, [&](ValueRef& value) {
        if (Node* other = replacement[static_cast<size_t>(value.node->index)]) value.node = other;
      });
    }
    if (!may_merge(*node) || written[static_cast<size_t>(node->index)]) continue;
    size_t hash = hash_node(*node);
    auto [first, last] = seen.equal_range(hash);
    while (first != last && !equal_nodes(*first->second, *node)) ++first;
    if (first == last) {
      seen.emplace(hash, node.get());
    } else if (!escapes[static_cast<size_t>(node->index)]) {
      replacement[static_cast<size_t>(node->index)] = first->second;
      changed = true;
    }
  }
  // Here, as what they read is read by the equal nodes before them, too.
  if (changed)
    graph.retain([&](const Node& node) { return replacement[static_cast<size_t>(node.index)] == nullptr; }, false);
  return changed;
}

}  // namespace md
