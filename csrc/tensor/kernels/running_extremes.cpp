// cummax, cummin: the running extreme along a dim, and the index where it last occurred.
#include <type_traits>

#include "tensor/kernels/dim_slices.h"
#include "tensor/ops/call_args.h"
#include "tensor/ops/kernels.h"
#include "tensor/ops/shape_rules.h"

namespace md {
namespace {

// Whether `value` replaces the best so far: equal ones do, and NaN always does.
template <typename T, typename Better>
bool replaces(T value, T best, const Better& better) {
  if constexpr (std::is_floating_point_v<T>) {
    if (value != value) return true;
    if (best != best) return false;
  }
  return better(value, best);
}

// The best element so far, the index of the next element, and that of the best.
template <typename T>
struct Best {
  T value = 0;
  int64_t next = 0, place = 0;
};

template <typename T, typename Better>
void take(Best<T>& best, T value, const Better& better) {
  if (best.next == 0 || replaces(value, best.value, better)) {
    best.value = value;
    best.place = best.next;
  }
  ++best.next;
}

template <typename T, typename Better>
void run(const Tensor& self, int dim, std::span<Tensor> outs, const Better& better) {
  scan_slices<T>(self, outs[0], dim, 2.0, Best<T>(), [&](T* values, int64_t n, Best<T>& best) {
    for (int64_t i = 0; i < n; ++i) {
      take(best, values[i], better);
      values[i] = best.value;
    }
  });
  // A double represents every index exactly.
  scan_slices<T>(self, outs[1], dim, 2.0, Best<T>(), [&](T* values, int64_t n, Best<T>& best) {
    for (int64_t i = 0; i < n; ++i) {
      take(best, values[i], better);
      values[i] = static_cast<T>(best.place);
    }
  });
}

template <typename Better>
void extreme(const OpCall& call, std::span<Tensor> outs, const Better& better) {
  const Tensor& self = tensor_arg(call, 0);
  int dim = wrap_dim(call, int_arg(call, 1), self->rank());
  if (is_floating(self->dtype())) return run<double>(self, dim, outs, better);
  if (self->dtype() == DType::uint64) return run<uint64_t>(self, dim, outs, better);
  run<int64_t>(self, dim, outs, better);
}

}  // namespace

void cummax_kernel(const OpCall& call, std::span<Tensor> outs) {
  extreme(call, outs, [](auto value, auto best) { return value >= best; });
}

void cummin_kernel(const OpCall& call, std::span<Tensor> outs) {
  extreme(call, outs, [](auto value, auto best) { return value <= best; });
}

}  // namespace md
