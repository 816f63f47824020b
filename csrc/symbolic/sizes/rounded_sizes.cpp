#include "symbolic/sizes/rounded_sizes.h"

#include <bit>
#include <cmath>

#include "cpython/imports.h"
#include "symbolic/facts/value_facts.h"
#include "symbolic/sizes/symbolic_sizes.h"

namespace md {

namespace {

// numerator / 2^shift
struct Dyadic {
  Dim numerator;
  int shift;
};

constexpr int kMostDigits = 20, kMostShift = 30;
constexpr int64_t kExactInFloats = int64_t{1} << 53;

std::optional<Dyadic> dyadic_of(Tracer& tracer, const ValuePtr& value);

std::optional<Dyadic> dyadic_of_float(double number) {
  if (!std::isfinite(number)) return std::nullopt;
  int exponent = 0;
  double fraction = std::frexp(number, &exponent);
  double digits = std::ldexp(fraction, kMostDigits);
  if (digits != std::floor(digits)) return std::nullopt;
  auto numerator = static_cast<int64_t>(digits);
  int shift = kMostDigits - exponent;
  for (; shift > 0 && numerator % 2 == 0; --shift) numerator /= 2;
  if (shift > kMostShift || shift < -kMostDigits) return std::nullopt;
  return shift < 0 ? Dyadic{Dim(numerator * (int64_t{1} << -shift)), 0} : Dyadic{Dim(numerator), shift};
}

std::optional<int> shift_of_power(Dim divisor) {
  if (divisor.is_symbolic() || divisor.value() <= 0) return std::nullopt;
  auto bits = static_cast<uint64_t>(divisor.value());
  int shift = std::countr_zero(bits);
  return std::has_single_bit(bits) && shift <= kMostShift ? std::optional(shift) : std::nullopt;
}

std::optional<Dyadic> dyadic_of_computed(Tracer& tracer, const ComputedValue& computed) {
  if (computed.scalar_op == ScalarOp::Float) return dyadic_of(tracer, computed.parts[0]);
  if (computed.scalar_op != ScalarOp::Multiply && computed.scalar_op != ScalarOp::TrueDivide) return std::nullopt;
  std::optional<Dyadic> a = dyadic_of(tracer, computed.parts[0]), b = dyadic_of(tracer, computed.parts[1]);
  if (!a || !b) return std::nullopt;
  if (computed.scalar_op == ScalarOp::Multiply) return Dyadic{a->numerator * b->numerator, a->shift + b->shift};
  std::optional<int> shift = b->shift == 0 ? shift_of_power(b->numerator) : std::nullopt;
  return shift ? std::optional(Dyadic{a->numerator, a->shift + *shift}) : std::nullopt;
}

std::optional<Dyadic> dyadic_of(Tracer& tracer, const ValuePtr& value) {
  if (type_of(value) == &PyLong_Type) {
    std::optional<Dim> dim = dim_of(tracer, value);
    return dim ? std::optional(Dyadic{*dim, 0}) : std::nullopt;
  }
  if (type_of(value) != &PyFloat_Type) return std::nullopt;
  if (auto* computed = as<ComputedValue>(value); computed != nullptr && !computed->known)
    return computed->parts.empty() ? std::nullopt : dyadic_of_computed(tracer, *computed);
  auto* object = as<ObjectValue>(value);
  if (object != nullptr && object->is_dynamic && !object->value_guarded) return std::nullopt;
  Ref constant = constant_of(tracer, value);
  return constant ? dyadic_of_float(PyFloat_AS_DOUBLE(constant.get())) : std::nullopt;
}

enum class Rounding : uint8_t { Down, Up, ToZero };

std::optional<Rounding> rounding_of(ScalarOp scalar_op, const std::vector<ValuePtr>& operands) {
  static PyObject* const functions[] = {imported("math", "floor").release(), imported("math", "ceil").release(),
                                        imported("math", "trunc").release()};
  if (scalar_op == ScalarOp::Int && operands.size() == 1) return Rounding::ToZero;
  auto* function = scalar_op == ScalarOp::Call && operands.size() == 2 ? as<ObjectValue>(operands[0]) : nullptr;
  for (int i = 0; function != nullptr && i < 3; ++i)
    if (function->object.get() == functions[i]) return static_cast<Rounding>(i);
  return std::nullopt;
}

}  // namespace

std::optional<Dim> rounded_dim(Tracer& tracer, ScalarOp scalar_op, const std::vector<ValuePtr>& operands) {
  std::optional<Rounding> rounding = rounding_of(scalar_op, operands);
  std::optional<Dyadic> number = rounding ? dyadic_of(tracer, operands.back()) : std::nullopt;
  if (!number || number->shift > kMostShift) return std::nullopt;
  if (number->shift == 0 && type_of(operands.back()) == &PyLong_Type) return number->numerator;
  bool is_exact =
      known_less(number->numerator, Dim(kExactInFloats)) && known_less(Dim(-kExactInFloats), number->numerator);
  if (!is_exact) return std::nullopt;
  bool up = *rounding == Rounding::Up || (*rounding == Rounding::ToZero && known_less(number->numerator, Dim(0)));
  Dim divisor(int64_t{1} << number->shift);
  return up ? Dim(0) - floor_divide(Dim(0) - number->numerator, divisor) : floor_divide(number->numerator, divisor);
}

}  // namespace md
