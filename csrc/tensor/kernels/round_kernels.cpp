// round(decimals=n): to multiples of a power of ten.
#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "tensor/ops/call_args.h"
#include "tensor/ops/kernels.h"
#include "tensor/parallel/threads.h"
#include "tensor/simd/copy.h"
#include "tensor/simd/loops.h"

namespace md {
namespace {

// std::nearbyint() without a call: the sum with a power of two has no room for a fraction.
template <typename Float>
Float nearest_whole(Float value) {
  constexpr Float kLeastWhole = Float(int64_t{1} << (std::numeric_limits<Float>::digits - 1));
  Float size = std::fabs(value), whole = (size + kLeastWhole) - kLeastWhole;
  return std::copysign(size < kLeastWhole ? whole : size, value);
}

// As torch: for negative decimals first by the power, so that the factor is an integer.
template <typename T, int kSign>
void round_run(const T* from, T* to, int64_t n, int64_t decimals) {
  T ten = static_cast<T>(std::pow(T(10), static_cast<T>(std::abs(decimals))));
  for (int64_t i = 0; i < n; ++i) {
    T value = from[i];
    if constexpr (kSign != 0) value = kSign < 0 ? value / ten : value * ten;
    value = nearest_whole(value);
    if constexpr (kSign != 0) value = kSign < 0 ? value * ten : value / ten;
    to[i] = value;
  }
}

// Floats of two bytes as float.
template <typename T>
void round_all(const Tensor& self, int64_t decimals, const Tensor& out) {
  constexpr int64_t kTile = 512;
  auto dtype = static_cast<int>(self->dtype());
  constexpr int kComputed = static_cast<int>(std::is_same_v<T, double> ? DType::float64 : DType::float32);
  auto* round = decimals == 0 ? round_run<T, 0> : decimals < 0 ? round_run<T, -1> : round_run<T, 1>;
  auto item = static_cast<int64_t>(item_size(self->dtype()));
  parallel_for(self->numel(), 0.5, [&](int64_t begin, int64_t end) {
    if (dtype == kComputed) return round(self.data<T>() + begin, out.data<T>() + begin, end - begin, decimals);
    alignas(64) T values[kTile];
    for (int64_t at = begin, n; at < end; at += n) {
      n = std::min(end - at, kTile);
      loops().convert[dtype][kComputed](self.data<char>() + at * item, values, n);
      round(values, values, n, decimals);
      loops().convert[kComputed][dtype](values, out.data<char>() + at * item, n);
    }
  });
}

}  // namespace

void round_decimals_kernel(const OpCall& call, std::span<Tensor> outs) {
  Tensor self = as_contiguous(tensor_arg(call, 0), tensor_arg(call, 0)->dtype());
  MD_ASSERT(is_floating(self->dtype()), "decimals of ", row(self->dtype()).name);
  auto* round = self->dtype() == DType::float64 ? round_all<double> : round_all<float>;
  round(self, int_arg(call, 1), outs[0]);
}

}  // namespace md
