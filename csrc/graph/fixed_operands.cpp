#include "graph/fixed_operands.h"

namespace md {

bool is_fixed_operand(const Operand& operand) {
  const auto* dims = std::get_if<DimVec>(&operand);
  const auto* scalar = std::get_if<Scalar>(&operand);
  return (scalar == nullptr || !scalar->is_symbolic()) && (dims == nullptr || !any_symbolic(dims->span()));
}

bool is_fixed_and_small(const ValueInfo& info) {
  constexpr int64_t kMostElements = 4096;
  return !any_symbolic(info.spec.sizes.span()) && info.spec.numel().value() <= kMostElements;
}

}  // namespace md
