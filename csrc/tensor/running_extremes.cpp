// cummax, cummin: the extreme so far along a dim, and where it was found last.
#include <type_traits>

#include "tensor/call_args.h"
#include "tensor/kernels.h"
#include "tensor/lines.h"
#include "tensor/shape_rules.h"

namespace md {
namespace {

// Whether `value` takes the place of the best so far: equal ones do, and a NaN whatever came before.
template <typename T, typename Better>
bool replaces(T value, T best, const Better& better) {
  if constexpr (std::is_floating_point_v<T>) {
    if (value != value) return true;
    if (best != best) return false;
  }
  return better(value, best);
}

template <typename T, typename Better>
void run(const Tensor& self, int dim, std::span<Tensor> outs, const Better& better) {
  for_lines<T>(self, outs[0], dim, 2.0, [&](T* values, int64_t n) {
    for (int64_t i = 1; i < n; ++i) values[i] = replaces(values[i], values[i - 1], better) ? values[i] : values[i - 1];
  });
  // A double holds every index.
  for_lines<T>(self, outs[1], dim, 2.0, [&](T* values, int64_t n) {
    T best = n == 0 ? T(0) : values[0];
    int64_t place = 0;
    for (int64_t i = 0; i < n; ++i) {
      if (replaces(values[i], best, better)) {
        best = values[i];
        place = i;
      }
      values[i] = static_cast<T>(place);
    }
  });
}

template <typename Better>
void extreme(const OpCall& call, std::span<Tensor> outs, const Better& better) {
  const Tensor& self = tensor_arg(call, 0);
  int dim = wrap_dim(call, int_arg(call, 1), self->rank());
  if (is_floating(self->dtype())) return run<double>(self, dim, outs, better);
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
