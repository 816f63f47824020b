#include "executor/loops/loop_op.h"

#include "tensor/fill.h"
#include "tensor/ops/checked_numbers.h"
#include "tensor/ops/pointwise_form.h"
#include "tensor/simd/known_result.h"
#include "tensor/simd/pointwise.h"

namespace md {

bool is_tensor(const Operand& operand) {
  const auto* value = std::get_if<ValueRef>(&operand);
  return value != nullptr && !info_of(*value).is_scalar;
}
bool is_number(const Operand& operand) {
  const auto* value = std::get_if<ValueRef>(&operand);
  return std::holds_alternative<Scalar>(operand) || (value != nullptr && info_of(*value).is_scalar);
}
unsigned number_mask(const LoopOp& op) {
  unsigned mask = 0;
  for (int i = 0; i < op.operand_count; ++i) mask |= is_number(*op.operands[i]) ? 1u << i : 0u;
  return mask;
}

namespace {

DType dtype_of(const Operand& operand) { return info_of(std::get<ValueRef>(operand)).spec.dtype; }

std::optional<LoopOp> as_cast(const Node& node) {
  if (node.operands.empty() || !is_tensor(node.operands[0])) return std::nullopt;
  LoopOp op = {.dtype = dtype_of(node.operands[0]), .result = node.outs[0].spec.dtype, .operand_count = 1};
  op.operands[0] = &node.operands[0];
  if (loops().convert[static_cast<int>(op.dtype)][static_cast<int>(op.result)] == nullptr) return std::nullopt;
  return op;
}

PointwiseForm form_of(const Node& node) {
  std::vector<Arg> args;
  for (const Operand& operand : node.operands) {
    args.push_back(to_arg(operand, [](ValueRef value) -> Arg {
      const ValueInfo& info = value.node->outs[static_cast<size_t>(value.out)];
      return info.is_scalar ? Tensor() : Tensor::fake(info.spec);
    }));
  }
  return pointwise_form(*node.op, args);
}

std::optional<LoopOp> as_pointwise(const Node& node) {
  PointwiseForm form = form_of(node);
  if (form.row < 0) return std::nullopt;
  const PointwiseRow& row = pointwise_rows()[static_cast<size_t>(form.row)];
  LoopOp op = {.row = form.row, .operand_count = form.operand_count, .op = node.op, .is_costly = row.is_costly};
  bool dtype_known = false;
  for (int i = 0; i < form.operand_count; ++i) {
    const Operand& operand = node.operands[static_cast<size_t>(form.operands[i])];
    op.operands[i] = &operand;
    if (!is_tensor(operand)) {
      if (!is_number(operand)) return std::nullopt;
      continue;
    }
    bool is_condition = row.result == PointwiseResult::Select && i == 0;
    if (is_condition && dtype_of(operand) != DType::bool_) return std::nullopt;
    if (is_condition) continue;
    if (dtype_known && dtype_of(operand) != op.dtype) return std::nullopt;
    op.dtype = dtype_of(operand);
    dtype_known = true;
  }
  op.result = node.outs[0].spec.dtype;
  if (!dtype_known) {
    if (row.result != PointwiseResult::Select || !is_tensor(*op.operands[0])) return std::nullopt;
    op.dtype = op.result;
  }
  // The kernel reports numbers that do not fit; run-time numbers are checked when known.
  for (; op.param_count < row.param_count; ++op.param_count) {
    if (form.param < 0) return std::nullopt;
    const auto* number = std::get_if<Scalar>(&node.operands[static_cast<size_t>(form.param + op.param_count)]);
    std::optional<DType> holds = checked_param(op.row, op.dtype);
    if (number == nullptr || (holds && !fits(*holds, *number))) return std::nullopt;
    op.params[static_cast<size_t>(op.param_count)] = *number;
  }
  for (int i = 0; i < op.operand_count; ++i) {
    const Scalar* number = std::get_if<Scalar>(op.operands[i]);
    std::optional<DType> holds = number != nullptr ? checked_operand(op.row, i, op.dtype) : std::nullopt;
    if (holds && !fits(*holds, *number)) return std::nullopt;
  }
  // The function computing a power depends on the exponent: its kernel selects it at each run.
  bool form_varies = op.row == static_cast<int>(Pointwise::pow) && std::holds_alternative<ValueRef>(*op.operands[1]) &&
                     !is_tensor(*op.operands[1]);
  if (form_varies) return std::nullopt;
  bool may_fail = row.may_fail && !is_floating(op.dtype);
  // The kernel does not read the operands then.
  if (known_result(op.row, op.dtype) != Truth::Depends) return std::nullopt;
  if (may_fail || pointwise_result_dtype(op.row, op.dtype) != op.result) return std::nullopt;
  if (pointwise_loop(op.row, op.dtype, 0) == nullptr) return std::nullopt;
  if (pointwise_loop(op.row, op.dtype, number_mask(op)) == nullptr) return std::nullopt;
  return op;
}

// `to` with another dtype is a cast; with the same one it is a view.
bool is_converting_copy(const Node& node) {
  return is_op(node, OpRole::Conversion) && is_tensor(node.operands[0]) &&
         dtype_of(node.operands[0]) != node.outs[0].spec.dtype;
}

}  // namespace

std::optional<LoopOp> as_loop_op(const Node& node) {
  if (node.kind != NodeKind::Op || node.outs.size() != 1) return std::nullopt;
  // A result that overlaps itself has no valid loop order.
  for (int d = 0; d < node.outs[0].spec.rank(); ++d) {
    if (node.outs[0].spec.strides[d].value() == 0 && node.outs[0].spec.sizes[d].value() > 1) return std::nullopt;
  }
  if (node.op->kind == OpKind::Cast || is_converting_copy(node)) return as_cast(node);
  if (node.op->pointwise < 0) return std::nullopt;
  return as_pointwise(node);
}

std::optional<LoopOp> as_fold(const Node& node) {
  std::optional<RowReductionCall> fold = as_row_fold(node);
  if (!fold) return std::nullopt;
  LoopOp op = {.row = -1, .dtype = dtype_of(node.operands[0]), .result = node.outs[0].spec.dtype, .operand_count = 1};
  op.operands[0] = &node.operands[0];
  op.fold = *fold;
  return op;
}

const Operand* squared_operand(const Node& node) {
  std::optional<LoopOp> op = as_loop_op(node);
  if (!op || !is_floating(op->dtype) || !is_tensor(*op->operands[0])) return nullptr;
  if (op->row == static_cast<int>(Pointwise::square)) return op->operands[0];
  bool is_product = op->row == static_cast<int>(Pointwise::mul) && is_tensor(*op->operands[1]);
  bool is_square = is_product && std::get<ValueRef>(*op->operands[0]) == std::get<ValueRef>(*op->operands[1]);
  return is_square ? op->operands[0] : nullptr;
}

}  // namespace md
