// round(decimals=n): to multiples of a power of ten.
#include <cmath>
#include <type_traits>

#include "tensor/numeric_cast.h"
#include "tensor/ops/call_args.h"
#include "tensor/ops/kernels.h"
#include "tensor/parallel/threads.h"
#include "tensor/simd/copy.h"

namespace md {
namespace {

// As torch: for negative decimals first by the power, so that the factor is an integer.
template <typename T>
void round_all(const Tensor& self, int64_t decimals, const Tensor& out) {
  using Compute = decltype(comparable(T()));
  Compute ten = static_cast<Compute>(std::pow(Compute(10), static_cast<Compute>(std::abs(decimals))));
  const T* from = self.data<T>();
  T* to = out.data<T>();
  parallel_for(self->numel(), 1.0, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      Compute value = comparable(from[i]);
      if (decimals != 0) value = decimals < 0 ? value / ten : value * ten;
      value = std::nearbyint(value);
      if (decimals != 0) value = decimals < 0 ? value * ten : value / ten;
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
      round_all<T>(self, decimals, outs[0]);
    }
  });
}

}  // namespace md
