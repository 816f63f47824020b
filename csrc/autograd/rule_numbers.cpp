#include "autograd/rule_numbers.h"

#include "autograd/rule_op.h"
#include "base/error.h"

namespace md {
namespace {

Arg combined_floats(char sign, double a, double b) {
  switch (sign) {
    case '+':
      return Scalar(a + b);
    case '-':
      return Scalar(a - b);
    case '*':
      return Scalar(a * b);
    case '/':
      return Scalar(a / b);
    case '=':
      return Scalar(a == b);
    case '!':
      return Scalar(a != b);
    case 'l':
      return Scalar(a <= b);
    case 'g':
      return Scalar(a >= b);
    case '<':
      return Scalar(a < b);
    case '>':
      return Scalar(a > b);
    default:
      raise(ErrorKind::Internal, "derivative: an operator of tensors between numbers");
  }
}

Arg combined_sizes(char sign, Dim a, Dim b) {
  switch (sign) {
    case '+':
      return Scalar::symbolic(a + b);
    case '-':
      return Scalar::symbolic(a - b);
    case '*':
      return Scalar::symbolic(a * b);
    case '=':
      return Scalar(known_equal(a, b));
    case '!':
      return Scalar(!known_equal(a, b));
    default:
      return combined_floats(sign, static_cast<double>(a.value()), static_cast<double>(b.value()));
  }
}

}  // namespace

bool is_of_numbers(std::span<const Arg> args) {
  for (const Arg& arg : args)
    if (std::holds_alternative<Tensor>(arg)) return false;
  return true;
}

Arg combined(char sign, std::span<const Arg> args) {
  if (const auto* text = std::get_if<std::string>(&args[0])) {
    bool equal = *text == std::get<std::string>(args[1]);
    return Scalar(sign == '=' ? equal : !equal);
  }
  const Scalar& a = std::get<Scalar>(args[0]);
  if (args.size() == 1) return a.is_float() ? Scalar(-a.as_double()) : Scalar::symbolic(Dim(0) - a.as_dim());
  const Scalar& b = std::get<Scalar>(args[1]);
  if (a.is_float() || b.is_float()) return combined_floats(sign, a.as_double(), b.as_double());
  return combined_sizes(sign, a.as_dim(), b.as_dim());
}

bool is_true(const Arg& value) {
  if (const auto* number = std::get_if<Scalar>(&value)) return number->as_double() != 0;
  return !is_none(value);
}

Tensor sum_to(Tensor gradient, const DimVec& sizes) {
  const DimVec& given = gradient.spec().sizes;
  int lead = given.size() - sizes.size();
  DimVec dims;
  for (int i = 0; i < lead; ++i) dims.push_back(i);
  for (int i = 0; i < sizes.size(); ++i) {
    if (same(sizes[i], given[lead + i])) continue;
    if (known_equal(sizes[i], 1) && !known_equal(given[lead + i], 1)) dims.push_back(lead + i);
  }
  if (!dims.empty()) gradient = rule_ops::sum(gradient, dims, truth(true));
  return lead == 0 ? gradient : rule_ops::reshape(gradient, sizes);
}

Tensor cast_to(Tensor tensor, DType dtype) {
  if (is_complex(tensor->dtype()) && !is_complex(dtype)) tensor = rule_ops::real_part(tensor);
  return tensor->dtype() == dtype ? tensor : rule_ops::cast(tensor, dtype);
}

}  // namespace md
