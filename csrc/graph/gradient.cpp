#include "graph/gradient.h"

#include "tensor/ops/gradient_flow.h"

namespace md {

bool any_requires_grad(std::span<const Operand> operands) {
  bool found = false;
  for (const Operand& operand : operands) {
    for_each_value(operand, [&](const ValueRef& value) {
      const ValueInfo& info = value.node->outs[static_cast<size_t>(value.out)];
      found = found || (!info.is_scalar && info.spec.requires_grad);
    });
  }
  return found;
}

void mark_requires_grad(Graph& graph, std::span<const bool> inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    ValueInfo& info = graph.inputs()[i]->outs[0];
    info.spec.requires_grad = inputs[i] && !info.is_scalar;
  }
  for (const auto& node : graph.nodes()) {
    if (node->kind != NodeKind::Op) continue;
    bool passes = passes_gradient(*node->op) && any_requires_grad(node->operands);
    for (ValueInfo& info : node->outs)
      info.spec.requires_grad = passes && !info.is_scalar && is_inexact(info.spec.dtype);
  }
}

}  // namespace md
