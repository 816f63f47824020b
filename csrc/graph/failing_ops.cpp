#include "graph/failing_ops.h"

#include "tensor/fill.h"

namespace md {
namespace {

bool is_number(const Param& param) { return param.type == ParamType::Number || param.type == ParamType::Scalar; }

bool fits_always(const Operand& number, DType dtype) {
  if (const auto* scalar = std::get_if<Scalar>(&number))
    return scalar->is_symbolic() ? dtype == DType::int64 : fits(dtype, *scalar);
  const auto* value = std::get_if<ValueRef>(&number);
  return value == nullptr || !value->node->outs[static_cast<size_t>(value->out)].is_scalar;
}

}  // namespace

bool may_fail(const OpRow& op, std::span<const Operand> operands, std::span<const ValueInfo> outs) {
  if (op.faces & kChecksElements) return op.pointwise < 0 || !is_floating(outs[0].spec.dtype);
  if (!(op.faces & kChecksNumber)) return false;
  for (size_t i = 0; i < operands.size(); ++i)
    if (is_number(op.schema.params[i]) && !fits_always(operands[i], outs[0].spec.dtype)) return true;
  return false;
}

}  // namespace md
