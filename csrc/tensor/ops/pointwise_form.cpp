#include "tensor/ops/pointwise_form.h"

#include <algorithm>
#include <limits>
#include <string_view>

#include "base/error.h"
#include "tensor/simd/pointwise.h"

namespace md {
namespace {

int number(Pointwise row) { return static_cast<int>(row); }

bool is_number(const Arg& arg, double value) {
  const Scalar* scalar = std::get_if<Scalar>(&arg);
  return scalar != nullptr && scalar->as_double() == value;
}

// Forms that depend on an argument's value. Each row: when it applies, and how it changes the form.
struct Refinement {
  Pointwise row;
  void (*refine)(const OpRow& op, std::span<const Arg> args, PointwiseForm& form);
};

DTypeCategory category_of(const Arg& arg) {
  if (const Scalar* scalar = std::get_if<Scalar>(&arg)) return scalar->category();
  const Tensor& tensor = std::get<Tensor>(arg);
  return tensor.defined() ? row(tensor->dtype()).category : DTypeCategory::Floating;  // undefined: a run-time number
}

// alpha may not be of a higher kind than the result.
void check_alpha(const OpRow& op, std::span<const Arg> args, const PointwiseForm& form) {
  const Scalar* alpha = std::get_if<Scalar>(&args[static_cast<size_t>(form.param)]);
  if (alpha == nullptr || alpha->kind() == Scalar::Kind::Int) return;
  DTypeCategory category = std::max(category_of(args[static_cast<size_t>(form.operands[0])]),
                                    category_of(args[static_cast<size_t>(form.operands[1])]));
  if (alpha->is_float() && category < DTypeCategory::Floating) {
    raise_op(ErrorKind::Runtime, op.name,
             "For integral input tensors, argument alpha must not be a floating point number.");
  }
  if (!alpha->is_float() && category != DTypeCategory::Bool) {
    raise_op(ErrorKind::Runtime, op.name, "Boolean alpha only supported for Boolean results.");
  }
}

// A factor other than 1.
template <Pointwise Scaled>
void refine_factor(const OpRow&, std::span<const Arg> args, PointwiseForm& form) {
  if (form.param >= 0 && is_number(args[static_cast<size_t>(form.param)], 1)) {
    form.param = -1;
  } else if (form.param >= 0) {
    form.row = number(Scaled);
  }
}

template <Pointwise Scaled>
void refine_alpha(const OpRow& op, std::span<const Arg> args, PointwiseForm& form) {
  if (form.param >= 0) check_alpha(op, args, form);
  refine_factor<Scaled>(op, args, form);
}

const std::string* string_among(std::span<const Arg> args) {
  for (const Arg& arg : args) {
    if (const std::string* text = std::get_if<std::string>(&arg)) return text;
  }
  return nullptr;
}

void refine_rounding(const OpRow& op, std::span<const Arg> args, PointwiseForm& form) {
  const std::string* mode = string_among(args);
  if (mode == nullptr) return;
  if (*mode == "floor") {
    form.row = number(Pointwise::div_floor);
  } else if (*mode == "trunc") {
    form.row = number(Pointwise::div_trunc);
  } else {
    raise_op(ErrorKind::Runtime, python_name(op),
             "expected rounding_mode to be one of None, 'trunc', or 'floor' but found '", *mode, "'");
  }
}

void refine_gelu(const OpRow& op, std::span<const Arg> args, PointwiseForm& form) {
  const std::string* approximate = string_among(args);
  if (approximate == nullptr || *approximate == "none") return;
  if (*approximate != "tanh") {
    raise_op(ErrorKind::Runtime, op.name, "approximate argument must be either none or tanh, got '", *approximate, "'");
  }
  form.row = number(Pointwise::gelu_tanh);
}

void refine_clamp(const OpRow& op, std::span<const Arg> args, PointwiseForm& form) {
  bool no_min = is_none(args[1]);
  bool no_max = is_none(args[2]);
  if (no_min && no_max) raise_op(ErrorKind::Runtime, op.name, "At least one of 'min' or 'max' must not be None");
  if (!no_min && !no_max) return;
  form.row = number(no_min ? Pointwise::minimum : Pointwise::maximum);
  form.operands[1] = no_min ? 2 : 1;
  form.operand_count = 2;
}

bool is_bool_tensor(const Arg& arg) {
  const Tensor* tensor = std::get_if<Tensor>(&arg);
  return tensor != nullptr && tensor->defined() && (*tensor)->dtype() == DType::bool_;
}

// Small powers are products. Bools have a power only if the exponent is a number, as in torch. x ** -1 of integers must
// fail: only floats have a reciprocal.
void refine_pow(const OpRow& op, std::span<const Arg> args, PointwiseForm& form) {
  struct Power {
    double exponent;
    Pointwise row;
  };
  constexpr Power kPowers[] = {{2, Pointwise::square},
                               {3, Pointwise::cube},
                               {0.5, Pointwise::sqrt},
                               {-0.5, Pointwise::rsqrt},
                               {-1, Pointwise::reciprocal}};
  if (is_bool_tensor(args[1])) raise_op(ErrorKind::NotImplemented, op.name, "not implemented for 'bool'");
  const Tensor* base = std::get_if<Tensor>(&args[0]);
  if (base == nullptr || !base->defined()) return;  // undefined: a run-time number
  for (const Power& power : kPowers) {
    if (!is_number(args[1], power.exponent)) continue;
    // sqrt(-inf) is NaN, its power inf: torch uses sqrt except for float16.
    bool is_whole = !is_inexact((*base)->dtype());
    if (power.exponent == -1 && is_whole) continue;
    if (power.exponent < 1 && (*base)->dtype() == DType::float16) continue;
    form.row = number(power.row);
    form.operand_count = 1;
  }
}

constexpr Refinement kRefinements[] = {
    {Pointwise::add, refine_alpha<Pointwise::add_scaled>},
    {Pointwise::sub, refine_alpha<Pointwise::sub_scaled>},
    {Pointwise::addcmul, refine_factor<Pointwise::addcmul_scaled>},
    {Pointwise::addcdiv, refine_factor<Pointwise::addcdiv_scaled>},
    {Pointwise::div, refine_rounding},
    {Pointwise::gelu, refine_gelu},
    {Pointwise::clamp, refine_clamp},
    {Pointwise::pow, refine_pow},
};

struct SpecialDivisors {
  bool zero = false, all_ones = false;
};

template <typename T>
SpecialDivisors special_divisors(const void* src, int64_t n) {
  const T* values = static_cast<const T*>(src);
  SpecialDivisors found;
  for (int64_t i = 0; i < n; ++i) {
    found.zero |= values[i] == T(0);
    found.all_ones |= values[i] == std::numeric_limits<T>::max();
  }
  return found;
}

SpecialDivisors special_divisors(DType dtype, const void* src, int64_t n) {
  switch (item_size(dtype)) {
    case 1:
      return special_divisors<uint8_t>(src, n);
    case 2:
      return special_divisors<uint16_t>(src, n);
    case 4:
      return special_divisors<uint32_t>(src, n);
    default:
      return special_divisors<uint64_t>(src, n);
  }
}

}  // namespace

bool check_divisor(const OpRow& op, DType dtype, const void* divisor, int64_t n) {
  SpecialDivisors found = special_divisors(dtype, divisor, n);
  if (found.zero) raise_op(ErrorKind::Runtime, op.name, "ZeroDivisionError");
  return found.all_ones && row(dtype).is_signed;
}

PointwiseForm pointwise_form(const OpRow& op, std::span<const Arg> args) {
  PointwiseForm form;
  form.row = op.pointwise;
  int arity = pointwise_rows()[static_cast<size_t>(op.pointwise)].arity;
  for (size_t i = 0; i < op.schema.params.size(); ++i) {
    ParamType type = op.schema.params[i].type;
    if ((type == ParamType::Tensor || type == ParamType::Number) && form.operand_count < arity) {
      form.operands[form.operand_count++] = static_cast<int>(i);
    } else if (type == ParamType::Scalar && form.param < 0) {
      form.param = static_cast<int>(i);
    }
  }
  MD_ASSERT(form.operand_count == arity, "[", op.name, "] has too few operands for its pointwise row");
  for (const Refinement& refinement : kRefinements) {
    if (number(refinement.row) == op.pointwise) refinement.refine(op, args, form);
  }
  return form;
}

}  // namespace md
