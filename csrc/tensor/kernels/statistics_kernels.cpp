// var and std: one pass for the mean, and one for the squared deviations.
#include <cmath>
#include <limits>

#include "tensor/fill.h"
#include "tensor/kernels/complex_kernels.h"
#include "tensor/kernels/dim_slices.h"
#include "tensor/kernels/reduction.h"
#include "tensor/ops/call_args.h"
#include "tensor/ops/kernels.h"
#include "tensor/ops/shape_rules.h"
#include "tensor/parallel/threads.h"
#include "tensor/simd/loops.h"

namespace md {
namespace {

// The sum of part(values, n) over the tiles of one result's elements.
template <typename T, typename Part>
double sum_of(const ReductionSpace& space, ConvertLoop load, bool converts, const char* data, const Part& part) {
  alignas(64) char gathered[ElementWalk::kTileBytes];
  alignas(64) T values[ElementWalk::kTile];
  const ElementWalk& walk = space.inner();
  double total = 0;
  for (int64_t at = 0, n; at < walk.count(); at += n) {
    n = walk.tile_length(at, walk.count());
    const void* src = walk.read(0, data, at, n, gathered);
    if (converts) load(src, values, n);
    total += part(converts ? values : static_cast<const T*>(src), n);
  }
  return total;
}

// The sum of (element - mean)^2 of one result's elements.
template <typename T>
double squares_of(const ReductionSpace& space, DType dtype, const char* data) {
  const FloatLoops<T>& run = loops_of<T>();
  bool converts = dtype != dtype_of<T>();
  ConvertLoop load = loops().convert[static_cast<int>(dtype)][static_cast<int>(dtype_of<T>())];
  double n = static_cast<double>(space.length());
  double mean = sum_of<T>(space, load, converts, data, run.exact_sum) / n;
  T rounded = static_cast<T>(mean);
  double squares = sum_of<T>(space, load, converts, data,
                             [&](const T* values, int64_t count) { return run.squares(values, count, rounded); });
  double off = mean - static_cast<double>(rounded);
  double corrected = squares - n * off * off;
  return corrected < 0 ? 0 : corrected;
}

double correction_of(const OpCall& call) {
  int unbiased = call.row.schema.find("unbiased");
  if (unbiased >= 0) return bool_arg(call, unbiased) ? 1 : 0;
  int correction = call.row.schema.find("correction");
  return arg_is_none(call, correction) ? 1 : scalar_arg(call, correction).as_double();
}

void deviation(const OpCall& call, const Tensor& out, bool root) {
  const Tensor& self = tensor_arg(call, 0);
  ReductionSpace space(self, reduced_dims(call, call.args[1], self->rank()));
  double n = static_cast<double>(space.length());
  double degrees = std::max(0.0, n - correction_of(call));
  bool in_double = self->dtype() == DType::float64;
  parallel_for(out->numel(), 0.2 * n, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const char* data = space.result_data(i);
      double squares =
          in_double ? squares_of<double>(space, self->dtype(), data) : squares_of<float>(space, self->dtype(), data);
      double variance = space.length() == 0 ? std::numeric_limits<double>::quiet_NaN() : squares / degrees;
      store_scalar(out->dtype(), Scalar(root ? std::sqrt(variance) : variance),
                   out.data<char>() + static_cast<size_t>(i) * item_size(out->dtype()));
    }
  });
}

}  // namespace

namespace {

// Of complex numbers: the mean of |element - mean|^2, which is the sum of the variances of the parts.
void variance(const OpCall& call, const Tensor& out) {
  if (is_complex(tensor_arg(call, 0)->dtype())) return run_on_sum_of_parts(var_kernel, call, out);
  deviation(call, out, false);
}
void standard_deviation(const OpCall& call, const Tensor& out) {
  if (!is_complex(tensor_arg(call, 0)->dtype())) return deviation(call, out, true);
  static const OpRow* const sqrt = find_op("sqrt");
  variance(call, out);
  Arg args[] = {out};
  Tensor result = out;
  pointwise_kernel({*sqrt, args}, {&result, 1});
}

}  // namespace

void whole_var_kernel(const OpCall& call, std::span<Tensor> outs) {
  static const OpRow* const row = find_op("var.unbiased");
  Arg args[] = {call.args[0], Arg(), call.args[1], Scalar(false)};
  variance({*row, args}, outs[0]);
}
void whole_std_kernel(const OpCall& call, std::span<Tensor> outs) {
  static const OpRow* const row = find_op("std.unbiased");
  Arg args[] = {call.args[0], Arg(), call.args[1], Scalar(false)};
  standard_deviation({*row, args}, outs[0]);
}
void var_kernel(const OpCall& call, std::span<Tensor> outs) { variance(call, outs[0]); }
void std_kernel(const OpCall& call, std::span<Tensor> outs) { standard_deviation(call, outs[0]); }

}  // namespace md
