// Numbers that take as many draws as their parameters ask for, element after element: torch's for CPUs.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tensor/kernels/random.h"
#include "tensor/ops/call_args.h"
#include "tensor/ops/kernels.h"
#include "tensor/simd/copy.h"
#include "tensor/simd/loops.h"

namespace md {
namespace {

// number(parameter, draws) for each element, computed in T.
template <typename T, typename Number>
void sample_elements(DType computed, const Tensor& parameters, const Tensor& out, const Number& number) {
  Tensor given = as_contiguous(parameters, computed);
  const T* src = given.data<T>();
  Tensor made = Tensor::empty(TensorSpec::contiguous(computed, out.spec().sizes));
  T* dst = made.data<T>();
  if (out->numel() == 0) return;
  {
    RandomDraws draws;
    for (int64_t i = 0; i < out->numel(); ++i) dst[i] = static_cast<T>(number(src[i], draws));
  }
  loops().convert[static_cast<int>(computed)][static_cast<int>(out->dtype())](dst, out.data<char>(), out->numel());
}

// In float64 for tensors of that, else in float32.
template <typename Number>
void sample_each(const Tensor& parameters, const Tensor& out, const Number& number) {
  parameters->dtype() == DType::float64 ? sample_elements<double>(DType::float64, parameters, out, number)
                                        : sample_elements<float>(DType::float32, parameters, out, number);
}

// How many uniform numbers it takes for their product to fall to e ** -rate.
int64_t poisson_of_product(double rate, RandomDraws& draws) {
  double least = std::exp(-rate), product = draws.uniform();
  int64_t count = 0;
  while (product > least) {
    product *= draws.uniform();
    ++count;
  }
  return count;
}

// From rates of 10 on: transformed rejection with squeeze (Hörmann 1993, PTRS).
int64_t poisson_by_rejection(double rate, RandomDraws& draws) {
  double b = 0.931 + 2.53 * std::sqrt(rate), a = -0.059 + 0.02483 * b;
  double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), squeeze = 0.9277 - 3.6224 / (b - 2);
  for (;;) {
    double u = draws.uniform() - 0.5, v = draws.uniform(), distance = 0.5 - std::fabs(u);
    double k = std::floor((2 * a / distance + b) * u + rate + 0.43);
    if (distance >= 0.07 && v <= squeeze) return static_cast<int64_t>(k);
    if (k < 0 || (distance < 0.013 && v > distance)) continue;
    double height = std::log(v) + std::log(inverse_alpha) - std::log(a / (distance * distance) + b);
    if (height <= -rate + k * std::log(rate) - std::lgamma(k + 1)) return static_cast<int64_t>(k);
  }
}

int64_t poisson_number(double rate, RandomDraws& draws) {
  if (!(rate >= 0)) raise(ErrorKind::Runtime, "invalid Poisson rate, expected rate to be non-negative");
  if (rate >= 10) return poisson_by_rejection(rate, draws);
  return rate == 0 ? 0 : poisson_of_product(rate, draws);
}

// From normal and uniform numbers (Marsaglia and Tsang 2000), with torch's constants, of which some are of float32.
template <typename T>
double gamma_number(T shape, RandomDraws& draws) {
  double scale = 1;
  if (shape < 1) {
    if (shape == 0) return 0;
    scale = std::pow(1 - draws.uniform(), static_cast<double>(1.0f / shape));
    shape += 1;
  }
  double d = shape - 1.0f / 3.0f, c = 1 / std::sqrt(9 * d);
  for (;;) {
    double x = draws.normal(), root = 1 + c * x;
    if (root <= 0) continue;
    double v = root * root * root, u = 1 - draws.uniform(), square = x * x;
    if (u < 1 - double{0.0331f} * square * square || std::log(u) < 0.5 * square + d * (1 - v + std::log(v)))
      return scale * d * v;
  }
}

}  // namespace

void poisson_kernel(const OpCall& call, std::span<Tensor> outs) {
  sample_each(tensor_arg(call, 0), outs[0], [](auto rate, RandomDraws& draws) { return poisson_number(rate, draws); });
}

void gamma_kernel(const OpCall& call, std::span<Tensor> outs) {
  sample_each(tensor_arg(call, 0), outs[0], []<typename T>(T shape, RandomDraws& draws) {
    return std::max(std::numeric_limits<T>::min(), static_cast<T>(gamma_number(shape, draws)));
  });
}

// 1 where self is positive, else a uniform number.
void rrelu_slopes_kernel(const OpCall& call, std::span<Tensor> outs) {
  double lower = scalar_arg(call, 1).as_double(), width = scalar_arg(call, 2).as_double() - lower;
  sample_each(tensor_arg(call, 0), outs[0], [=](auto value, RandomDraws& draws) {
    return value <= 0 ? std::fma(draws.uniform(), width, lower) : 1.0;
  });
}

}  // namespace md
