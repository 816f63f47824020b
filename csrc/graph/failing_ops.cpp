#include "graph/failing_ops.h"

#include <optional>

#include "tensor/fill.h"
#include "tensor/ops/checked_numbers.h"
#include "tensor/simd/pointwise.h"

namespace md {
namespace {

// If the row's kernel checks the number, the dtype that must be able to hold it.
std::optional<DType> checked_number(const OpRow& op, size_t at, DType dtype) {
  ParamType type = op.schema.params[at].type;
  if (type != ParamType::Number && type != ParamType::Scalar) return std::nullopt;
  if (op.pointwise < 0) return dtype;
  if (type == ParamType::Number) return checked_operand(op.pointwise, static_cast<int>(at), dtype);
  return checked_param(op.pointwise, dtype);
}

bool fits_always(const Operand& number, DType dtype) {
  if (const auto* scalar = std::get_if<Scalar>(&number))
    return scalar->is_symbolic() ? dtype == DType::int64 : fits(dtype, *scalar);
  const auto* value = std::get_if<ValueRef>(&number);
  return value == nullptr || !value->node->outs[static_cast<size_t>(value->out)].is_scalar;
}

// A quotient of integers whose divisor is the same number in each run, and not 0.
bool divides_by_constant(const OpRow& op, std::span<const Operand> operands, const ValueInfo& out) {
  if (!pointwise_rows()[static_cast<size_t>(op.pointwise)].may_fail) return false;
  const auto* divisor = std::get_if<Scalar>(&operands[1]);
  return divisor != nullptr && !divisor->is_symbolic() && fits(out.spec.dtype, *divisor) && divisor->as_int() != 0;
}

}  // namespace

bool may_fail(const OpRow& op, std::span<const Operand> operands, std::span<const ValueInfo> outs) {
  if (op.has(kChecksElements) && op.pointwise < 0) return true;
  if (op.has(kChecksElements)) return !is_inexact(outs[0].spec.dtype) && !divides_by_constant(op, operands, outs[0]);
  if (!op.has(kChecksNumber)) return false;
  for (size_t i = 0; i < operands.size(); ++i) {
    std::optional<DType> holds = checked_number(op, i, outs[0].spec.dtype);
    if (holds && !fits_always(operands[i], *holds)) return true;
  }
  return false;
}

bool reads_floats(const Node& node) {
  bool found = false;
  for (const Operand& operand : node.operands)
    for_each_value(operand, [&](const ValueRef& value) {
      const ValueInfo& info = value.node->outs[static_cast<size_t>(value.out)];
      found = found || info.is_scalar || is_inexact(info.spec.dtype);
    });
  return found;
}

namespace {

// A quotient of integers whose divisor may be -1.
bool may_overflow(const Node& node) {
  int row = node.op->pointwise;
  if (row < 0 || !pointwise_rows()[static_cast<size_t>(row)].overflows) return false;
  DType dtype = node.outs[0].spec.dtype;
  if (is_inexact(dtype) || !md::row(dtype).is_signed) return false;
  const auto* divisor = std::get_if<Scalar>(&node.operands[1]);
  return divisor == nullptr || divisor->is_symbolic() || divisor->as_int() == -1;
}

// Makes values of another dtype, which may not hold them. Integers, indices among them, overflow float16 alone.
bool converts(const Node& node) {
  DType to = node.outs[0].spec.dtype;
  bool found = false;
  for (const Operand& operand : node.operands)
    for_each_value(operand, [&](const ValueRef& value) {
      const ValueInfo& info = value.node->outs[static_cast<size_t>(value.out)];
      bool may_exceed = is_inexact(info.spec.dtype) || to == DType::float16;
      found = found || (!info.is_scalar && info.spec.dtype != to && may_exceed);
    });
  return found;
}

}  // namespace

bool may_raise_float_flags(const Node& node) {
  if (node.kind != NodeKind::Op) return false;
  switch (node.op->kind) {
    case OpKind::Write:
      return converts(node) && reads_floats(node);
    case OpKind::Cast:
      return converts(node) || reads_floats(node);
    case OpKind::View:
    case OpKind::Creation:
    case OpKind::Random:
    case OpKind::HostCall:
      return false;
    case OpKind::PointwiseUnary:
    case OpKind::PointwiseBinary:
    case OpKind::PointwiseTernary:
    case OpKind::Compare:
    case OpKind::Reduction:
    case OpKind::Matmul:
    case OpKind::Decomposition:
    case OpKind::Softmax:
    case OpKind::Gather:
      break;
  }
  return reads_floats(node) || may_overflow(node);
}

}  // namespace md
