#include "graph/gradient.h"

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

}  // namespace md
