#include "graph/passes.h"

#include <algorithm>

#include "base/config.h"
#include "graph/failing_ops.h"

namespace md {
namespace {

constexpr Pass kPasses[] = {
    {"fold_constants", "Runs cheap ops of constants once.", fold_constants},
    {"merge_common_subexpressions", "Computes equal pure ops once: what is copied onto itself is then seen as such.",
     merge_common_subexpressions},
    {"simplify_chains",
     "Shortens casts of casts and transposes of transposes, and reads what is copied in place of the copy.",
     simplify_chains},
    {"forward_writes", "Reads from a window what was written there, and drops writes that the next one replaces.",
     forward_writes},
    {"merge_common_subexpressions", "Computes equal pure ops once.", merge_common_subexpressions},
    {"eliminate_dead_code", "Drops nodes that nothing uses and that cannot fail.", eliminate_dead_code},
};

}  // namespace

bool verifies_graphs() {
#ifdef NDEBUG
  return config().verify_graphs;
#else
  return true;
#endif
}

bool must_run(const Node& node) {
  if (node.kind == NodeKind::ScalarInput)
    return node.outs[0].scalar_kind == Scalar::Kind::Int && !node.size.is_symbolic();
  if (node.kind != NodeKind::Op) return false;
  return !node.op->is_pure() || node.size.is_symbolic() || may_fail(*node.op, node.operands, node.outs);
}

bool may_rewire(const Node& node, size_t operand) {
  return !is_op(node, OpKind::HostCall) && (operand > 0 || !is_op(node, OpKind::Write));
}

std::vector<bool> written_creations(const Graph& graph) {
  std::vector<bool> written(graph.nodes().size(), false);
  for (const auto& node : graph.nodes()) {
    if (!is_op(*node, OpKind::Write) || node->operands.empty()) continue;
    const auto* self = std::get_if<ValueRef>(&node->operands[0]);
    if (self != nullptr && is_op(*self->node, OpKind::Creation)) written[static_cast<size_t>(self->node->index)] = true;
  }
  return written;
}

std::span<const Pass> passes() { return kPasses; }

bool has_effects(const Graph& graph) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(), [](const auto& node) { return must_run(*node); });
}

void run_passes(Graph& graph) {
  for (const Pass& pass : kPasses) {
    bool changed = pass.run(graph);
    if (!changed || !verifies_graphs()) continue;
    try {
      verify(graph);
    } catch (const Error& error) {
      raise(ErrorKind::Internal, "after pass ", pass.name, ": ", error.what());
    }
  }
}

std::vector<int> drop_unused_inputs(Graph& graph) {
  std::vector<bool> used(graph.nodes().size(), false);
  auto use = [&](const ValueRef& value) { used[static_cast<size_t>(value.node->index)] = true; };
  for (const auto& node : graph.nodes()) {
    for (const Operand& operand : node->operands) for_each_value(operand, use);
  }
  for (const ValueRef& output : graph.outputs()) use(output);
  return graph.retain(
      [&](const Node& node) { return node.kind == NodeKind::Op || used[static_cast<size_t>(node.index)]; }, true);
}

}  // namespace md
