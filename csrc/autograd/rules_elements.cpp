// Functions of formulas for ops on elements, and for reductions whose slope depends on all of them.
#include <cmath>

#include "autograd/rule_numbers.h"
#include "autograd/rule_op.h"
#include "autograd/rules.h"
#include "base/error.h"

namespace md {
namespace {

namespace op = rule_ops;

bool is_complex_tensor(const Arg& arg) {
  const auto* tensor = std::get_if<Tensor>(&arg);
  return tensor != nullptr && is_complex((*tensor)->dtype());
}

}  // namespace

Tensor diagonal_mask(Dim n) { return op::eye(Scalar(n.value()), std::monostate(), DType::bool_); }

namespace rules {

Arg conj(const DifferentiatedCall&, RuleArgs args) {
  return is_complex_tensor(args[0]) ? Arg(op::conj(args[0])) : args[0];
}

Arg real(const DifferentiatedCall&, RuleArgs args) {
  return is_complex_tensor(args[0]) ? Arg(op::real_part(args[0])) : args[0];
}

Arg imag(const DifferentiatedCall&, RuleArgs args) {
  return is_complex_tensor(args[0]) ? op::imag_part(args[0]) : op::zeros_like(args[0]);
}

// A gradient of imaginary parts, as complex numbers.
Arg imaginary(const DifferentiatedCall&, RuleArgs args) { return op::complex(op::zeros_like(args[0]), args[0]); }

// What is infinite replaced by 0.
Arg finite(const DifferentiatedCall&, RuleArgs args) { return op::where(op::isfinite(args[0]), args[0], whole(0)); }

Arg cast(const DifferentiatedCall&, RuleArgs args) { return cast_to(tensor_in(args, 0), std::get<DType>(args[1])); }

// A number as a tensor of the sizes of another; a tensor itself.
Arg tensor_like(const DifferentiatedCall&, RuleArgs args) {
  if (std::holds_alternative<Tensor>(args[0])) return args[0];
  return op::full_like(args[1], args[0]);
}

// The slope of the magnitude: the sign, 0 at 0.
Arg unit(const DifferentiatedCall&, RuleArgs args) {
  if (!is_complex_tensor(args[0])) return op::sign(args[0]);
  Tensor size = op::abs(args[0]), is_zero = op::eq(size, whole(0));
  return op::where(is_zero, whole(0), op::div(args[0], op::where(is_zero, whole(1), size)));
}

Arg angle_slope(const DifferentiatedCall&, RuleArgs args) {
  if (!is_complex_tensor(args[1])) return op::zeros_like(args[1]);
  const Tensor& gradient = tensor_in(args, 0);
  Tensor re = op::real_part(args[1]), im = op::imag_part(args[1]);
  Tensor squared = op::add(op::mul(re, re), op::mul(im, im));
  Tensor scaled = op::where(op::eq(squared, whole(0)), whole(0), op::div(gradient, squared));
  return op::complex(op::neg(op::mul(scaled, im)), op::mul(scaled, re));
}

// The product of the others: result / self, but for the only zero of a product the product of the rest.
Arg prod_slope(const DifferentiatedCall&, RuleArgs args) {
  const Tensor &gradient = tensor_in(args, 0), &self = tensor_in(args, 1), &result = tensor_in(args, 2);
  Tensor is_zero = op::eq(self, whole(0));
  Tensor safe = op::where(is_zero, whole(1), self), rest = safe, zeros = cast_to(is_zero, self->dtype());
  for (int dim : reduced_dims(args[3], self->rank())) {
    rest = op::prod(rest, whole(dim), truth(true));
    zeros = op::sum(zeros, DimVec{dim}, truth(true));
  }
  Tensor of_zero = op::where(op::eq(zeros, whole(1)), rest, whole(0));
  Tensor of_others = op::where(op::eq(zeros, whole(0)), op::div(result, safe), whole(0));
  return op::mul(gradient, op::where(is_zero, of_zero, of_others));
}

// The sum over later products of their gradient times the product of their other factors: n * n products, right also
// where factors are zero.
Arg cumprod_slope(const DifferentiatedCall&, RuleArgs args) {
  const Tensor& gradient = tensor_in(args, 0);
  if (gradient->rank() == 0) return gradient;
  auto list = DimVec{int_in(args, 2)};
  Tensor x = op::movedim(args[1], list, DimVec{-1}), g = op::movedim(gradient, list, DimVec{-1});
  Dim n = x.spec().sizes[x->rank() - 1];
  Tensor others = op::where(diagonal_mask(n), whole(1), op::unsqueeze(x, whole(-2)));  // [..., j, i]
  Tensor running = op::cumprod(others, whole(-1));                                     // [..., j, k]
  Tensor later = op::triu(op::ones(DimVec{n, n}, DType::bool_));                       // k >= j
  Tensor terms = op::mul(op::where(later, running, whole(0)), op::unsqueeze(g, whole(-2)));
  return op::movedim(op::sum(terms, DimVec{-1}), DimVec{-1}, list);
}

// U @ Vh of the matrices.
Tensor nuclear_slope(const Tensor& self, const Arg& dims) {
  DimVec places;
  for (int dim : reduced_dims(dims, self->rank())) places.push_back(dim);
  std::vector<Tensor> parts = op::linalg_svd.all(op::movedim(self, places, DimVec{-2, -1}), std::string("some"));
  return op::movedim(op::matmul(parts[0], parts[2]), DimVec{-2, -1}, places);
}

// p: a number, "fro" or "nuc".
Arg norm_slope(const DifferentiatedCall&, RuleArgs args) {
  const Tensor& self = tensor_in(args, 1);
  const auto* name = std::get_if<std::string>(&args[3]);
  const DimVec& sizes = self.spec().sizes;
  Tensor g = spread_over(tensor_in(args, 0), sizes, args[4], truth_in(args, 5));
  if (name != nullptr && *name == "nuc") return op::mul(g, nuclear_slope(self, args[4]));
  double p = name == nullptr && has(args, 3) ? std::get<Scalar>(args[3]).as_double() : 2;
  Tensor r = spread_over(tensor_in(args, 2), sizes, args[4], truth_in(args, 5));
  if (p == 0) return {};
  Tensor is_zero = op::eq(r, whole(0));
  // The slope at 0 is 0, and that of what is not taken there finite.
  Tensor safe = op::where(is_zero, whole(1), r);
  if (p == 2) return op::where(is_zero, whole(0), op::mul(g, op::div(self, safe)));
  Tensor signed_gradient = op::mul(g, op::sign(self));
  if (p == 1) return signed_gradient;
  if (std::isinf(p)) {
    Tensor hit = cast_to(op::eq(op::abs(self), r), self->dtype());
    DimVec dims;
    for (int dim : reduced_dims(args[4], self->rank())) dims.push_back(dim);
    return op::div(op::mul(signed_gradient, hit), op::sum(hit, dims, truth(true)));
  }
  Tensor is_none = op::eq(self, whole(0));
  Tensor size = op::where(is_none, whole(1), op::abs(self));
  Tensor ratio = op::pow(op::div(size, safe), Scalar(p - 1));
  return op::where(is_none, whole(0), op::mul(signed_gradient, ratio));
}

}  // namespace rules
}  // namespace md
