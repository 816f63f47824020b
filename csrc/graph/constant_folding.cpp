// Runs ops whose operands are all constants once, here. A node whose storage escapes is kept: each run must return a
// new tensor. So is one that is written in place.
#include <algorithm>

#include "graph/failing_ops.h"
#include "graph/fixed_operands.h"
#include "graph/passes.h"

namespace md {
namespace {

bool is_constant_operand(const Operand& operand) {
  bool constant = is_fixed_operand(operand);
  for_each_value(operand, [&](const ValueRef& value) {
    constant = constant && value.node->kind == NodeKind::TensorConst && is_fixed_and_small(value.node->outs[0]);
  });
  return constant;
}

bool may_fold(const Node& node) {
  if (node.kind != NodeKind::Op || must_run(node) || node.outs.size() != 1) return false;
  if (!is_fixed_and_small(node.outs[0]) || node.outs[0].spec.requires_grad) return false;
  return std::ranges::all_of(node.operands, is_constant_operand);
}

bool fold(Node& node) {
  std::vector<Arg> args;
  for (const Operand& operand : node.operands) {
    args.push_back(to_arg(operand, [](ValueRef value) -> Arg { return value.node->constant; }));
  }
  std::vector<Tensor> results;
  try {
    results = run_op(*node.op, args);
  } catch (const Error&) {
    return false;  // it fails again at its place when the graph runs
  }
  if (results.size() != 1 || results[0]->kind() != TensorKind::Real) return false;
  const TensorSpec& spec = results[0].spec();
  const TensorSpec& expected = node.outs[0].spec;
  if (spec.dtype != expected.dtype || !same(spec.sizes, expected.sizes) || !same(spec.strides, expected.strides))
    return false;
  node.kind = NodeKind::TensorConst;
  node.target = node.name;
  node.constant = results[0];
  node.op = nullptr;
  node.operands.clear();
  node.form = CallForm::Function;
  return true;
}

}  // namespace

bool fold_constants(Graph& graph) {
  std::vector<bool> escapes = graph.escaping(), written = written_creations(graph);
  bool changed = false;
  for (const auto& node : graph.nodes()) {
    // An exception that it meets must be met at each run.
    if (graph.watches_float_flags() && may_raise_float_flags(*node)) continue;
    size_t index = static_cast<size_t>(node->index);
    if (!escapes[index] && !written[index] && may_fold(*node)) changed |= fold(*node);
  }
  return changed;
}

}  // namespace md
