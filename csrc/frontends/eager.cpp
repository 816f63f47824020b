#include "frontends/eager.h"

#include <array>

#include "autograd/record.h"
#include "base/host_hooks.h"
#include "frontends/autocast.h"
#include "frontends/promotion.h"
#include "tensor/kernels/pointwise_fast_path.h"
#include "tensor/ops/gradient_flow.h"
#include "tensor/ops/tensor_args.h"
#include "tensor/tensor_modes.h"

namespace md {
namespace {

Tensor cast(const Tensor& tensor, DType dtype) {
  static const OpRow* const row = find_op("cast");
  std::array<Arg, 2> args = {tensor, dtype};
  std::vector<Tensor> results = run_op(*row, args);
  note_history(*row, args, results);
  return std::move(results.at(0));
}

// The operands of a call; heap allocated if there are more than fit inline.
class Operands {
 public:
  void push(const PromotionOperand& operand) {
    if (count_ < kInline) {
      inline_[count_++] = operand;
      return;
    }
    if (heap_.empty()) heap_.assign(inline_.begin(), inline_.end());
    heap_.push_back(operand);
  }
  std::span<const PromotionOperand> span() const {
    return heap_.empty() ? std::span(inline_.data(), count_) : std::span(heap_);
  }

 private:
  static constexpr size_t kInline = 8;
  std::array<PromotionOperand, kInline> inline_;
  size_t count_ = 0;
  std::vector<PromotionOperand> heap_;
};

PromotionOperand tensor_operand(const Tensor& tensor) {
  return {.kind = PromotionOperand::Kind::Tensor, .dtype = tensor->dtype(), .rank = tensor->rank()};
}

Operands operands_of(const OpRow& row, std::span<const Arg> args) {
  Operands operands;
  for (size_t i = 0; i < args.size(); ++i) {
    if (const auto* tensors = std::get_if<std::vector<Tensor>>(&args[i])) {
      for (const Tensor& tensor : *tensors) operands.push(tensor_operand(tensor));
    } else {
      operands.push(promotion_operand(row.schema.params[i], args[i]));
    }
  }
  return operands;
}

void cast_to(Tensor& tensor, DType dtype) {
  if (tensor.defined() && tensor->dtype() != dtype) tensor = cast(tensor, dtype);
}

void tell_listener() {
  if (auto* listener = host_hooks.operation_listener.load()) listener();
}

}  // namespace

bool result_requires_grad(const OpRow& row, bool some_input_does, DType dtype) {
  return some_input_does && passes_gradient(row) && tensor_modes().grad_enabled && is_inexact(dtype);
}

void cast_args(const OpRow& row, std::span<Arg> args) {
  std::optional<DType> target = promotion_target(row, operands_of(row, args).span());
  if (!target) return;
  for (size_t i = 0; i < args.size(); ++i) {
    if (!row.schema.params[i].promotes) continue;
    if (Tensor* tensor = std::get_if<Tensor>(&args[i])) {
      cast_to(*tensor, *target);
    } else if (auto* tensors = std::get_if<std::vector<Tensor>>(&args[i])) {
      for (Tensor& element : *tensors) cast_to(element, *target);
    }
  }
}

namespace {

// zeros(2, requires_grad=True): the parameter belongs to the front end and ignores grad mode.
void apply_requires_grad_param(const OpRow& row, std::span<const Arg> args, Tensor& result) {
  int param = row.schema.find("requires_grad");
  if (param < 0 || std::get<Scalar>(args[static_cast<size_t>(param)]).as_int() == 0) return;
  if (!is_inexact(result->dtype())) {
    raise(ErrorKind::Runtime, "Only Tensors of floating point and complex dtype can require gradients");
  }
  result.set_requires_grad(true);
}

}  // namespace

std::vector<Tensor> apply_op(const OpRow& row, std::span<Arg> args) {
  if (row.follows_autocast() && tensor_modes().autocast.enabled) autocast_args(row, args);
  return apply_as_given(row, args);
}

std::vector<Tensor> apply_as_given(const OpRow& row, std::span<Arg> args) {
  tell_listener();
  bool some_input_does = any_requires_grad(args);
  if (row.promotion != Promotion::None) cast_args(row, args);
  std::vector<Tensor> results = run_op(row, args);
  note_history(row, args, results);
  for (Tensor& result : results) {
    if (result->kind() == TensorKind::Real) continue;
    bool requires_grad = result_requires_grad(row, some_input_does, result->dtype());
    if (result.requires_grad() != requires_grad && !is_an_argument(result, args))
      result.set_requires_grad(requires_grad);
  }
  bool made = row.kind == OpKind::Creation || row.kind == OpKind::Random;
  if (made && !results.empty()) apply_requires_grad_param(row, args, results.at(0));
  return results;
}

namespace {

// Whether promotion leaves tensors of this dtype, and a number beside them, unchanged.
bool keeps_dtype(const OpRow& row, DType dtype) {
  bool to_float = row.promotion == Promotion::TrueDivide || row.promotion == Promotion::FloatUnary;
  return !to_float || is_inexact(dtype);
}
bool keeps_dtype(const OpRow& row, DType dtype, const Scalar& number) {
  return number.category() <= md::row(dtype).category && keeps_dtype(row, dtype);
}

Tensor with_history(const OpRow& row, std::initializer_list<Arg> given, const Tensor& result) {
  if (!tensor_modes().grad_enabled || !passes_gradient(row)) return result;
  std::vector<Arg> args(given);
  fill_defaults(row, args);
  note_history(row, args, {&result, 1});
  return result;
}

}  // namespace

Tensor apply_fast_path(const OpRow& row, const Tensor& a) {
  Tensor result;
  if (!keeps_dtype(row, a->dtype()) || !run_pointwise_fast(row, a, result)) return {};
  tell_listener();
  return a.requires_grad() ? with_history(row, {a}, result) : result;
}

Tensor apply_fast_path(const OpRow& row, const Tensor& a, const Tensor& b) {
  Tensor result;
  if (!keeps_dtype(row, a->dtype()) || !run_pointwise_fast(row, a, b, result)) return {};
  tell_listener();
  return a.requires_grad() || b.requires_grad() ? with_history(row, {a, b}, result) : result;
}

Tensor apply_fast_path(const OpRow& row, const Tensor& a, const Scalar& b) {
  Tensor result;
  if (!keeps_dtype(row, a->dtype(), b) || !run_pointwise_fast(row, a, b, result)) return {};
  tell_listener();
  return a.requires_grad() ? with_history(row, {a, b}, result) : result;
}

Tensor apply_fast_path(const OpRow& row, const Scalar& a, const Tensor& b) {
  Tensor result;
  if (!keeps_dtype(row, b->dtype(), a) || !run_pointwise_fast(row, a, b, result)) return {};
  tell_listener();
  return b.requires_grad() ? with_history(row, {a, b}, result) : result;
}

Tensor apply_named(const char* op, std::vector<Arg> args) {
  const OpRow* row = find_op(op);
  MD_ASSERT(row != nullptr, op);
  fill_defaults(*row, args);
  return std::move(apply_op(*row, args).at(0));
}

}  // namespace md
