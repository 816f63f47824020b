// round(decimals=n): to multiples of a power of ten.
#include <cmath>
#include <limits>
#include <type_traits>

#include "tensor/numeric_cast.h"
#include "tensor/ops/call_args.h"
#include "tensor/ops/kernels.h"
#include "tensor/parallel/threads.h"
#include "tensor/simd/copy.h"

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
void round_all(const Tensor& self, int64_t decimals, const Tensor& out) {
  using Compute = decltype(comparable(T()));
  Compute ten = static_cast<Compute>(std::pow(Compute(10), static_cast<Compute>(std::abs(decimals))));
  const T* from = self.data<T>();
  T* to = out.data<T>();
  parallel_for(self->numel(), 1.0, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      Compute value = comparable(from[i]);
      if constexpr (kSign != 0) value = kSign < 0 ? value / ten : value * ten;
      value = nearest_whole(value);
      if constexpr (kSign != 0) value = kSign < 0 ? value * ten : value / ten;
      to[i] = numeric_cast<T>(value);
    }
  });
}

}  // namespace

void round_decimals_kernel(const OpCall& call, std::span<Tensor> outs) {
  Tensor self = as_contiguous(tensor_arg(call, 0), tensor_arg(call, 0)->dtype());
  int64_t decimals = int_arg(call, 1);
  with_type(self->dtype(), [&]<typename T>() {
    if constexpr (std::is_integral_v<T>) {
      MD_ASSERT(false, "decimals of ", row(self->dtype()).name);
    } else {
      auto* round = decimals == 0 ? round_all<T, 0> : decimals < 0 ? round_all<T, -1> : round_all<T, 1>;
      round(self, decimals, outs[0]);
    }
  });
}

}  // namespace md
