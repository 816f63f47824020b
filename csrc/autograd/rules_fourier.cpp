// Functions of formulas for Fourier transforms. Each is linear: the gradient goes through its adjoint, which is the
// transform the other way round with the same factor.
#include <string>

#include "autograd/rule_op.h"
#include "autograd/rules.h"

namespace md {
namespace {

namespace op = rule_ops;

// "2 inverse ortho": how many dims, the direction, which of the two ways is scaled (numpy.fft's norm).
std::string other_way(const Arg& mode) {
  const auto& text = std::get<std::string>(mode);
  size_t direction = text.find(' ') + 1, norm = text.find(' ', direction) + 1;
  bool is_forward = text.compare(direction, 7, "forward") == 0;
  std::string scaled = text.substr(norm);
  if (scaled != "ortho") scaled = scaled == "forward" ? "backward" : "forward";
  return text.substr(0, direction) + (is_forward ? "inverse " : "forward ") + scaled;
}

Tensor part(const Tensor& tensor, Dim begin, Dim length) {
  return op::narrow(tensor, whole(-1), Scalar::symbolic(begin), Scalar::symbolic(length));
}

}  // namespace

namespace rules {

Arg fourier_slope(const DifferentiatedCall&, RuleArgs args) {
  return op::fft_c2c(tensor_in(args, 0), other_way(args[1]));
}

// Of real numbers: nothing comes back from the half that was not computed.
Arg half_fourier_slope(const DifferentiatedCall&, RuleArgs args) {
  const Tensor& g = tensor_in(args, 0);
  DimVec missing = g.spec().sizes;
  int last = missing.size() - 1;
  missing[last] = sizes_in(args, 1)[last] - missing[last];
  std::vector<Tensor> parts{g, zeros_for(g, missing)};
  return op::real_part(op::fft_c2c(op::cat(std::move(parts), whole(-1)), other_way(args[2])));
}

// To real numbers: what lies between the first and the middle frequency stands for its conjugate as well.
Arg real_fourier_slope(const DifferentiatedCall&, RuleArgs args) {
  Tensor half = op::fft_r2c(tensor_in(args, 0), other_way(args[1]));
  const DimVec& sizes = tensor_in(args, 0).spec().sizes;
  Dim all = sizes[sizes.size() - 1], kept = floor_divide(all, 2) + 1, twice = all - kept;
  std::vector<Tensor> parts{part(half, 0, 1), op::mul(part(half, 1, twice), Scalar(2.0)),
                            part(half, twice + 1, kept - twice - 1)};
  return op::cat(std::move(parts), whole(-1));
}

}  // namespace rules
}  // namespace md
