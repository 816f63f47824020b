// var and std: two passes in double.
#include <cmath>
#include <limits>

#include "tensor/call_args.h"
#include "tensor/fill.h"
#include "tensor/kernels.h"
#include "tensor/loops.h"
#include "tensor/reduction.h"
#include "tensor/shape_rules.h"
#include "tensor/threads.h"

namespace md {
namespace {

// Sums f(element) over the elements of one result.
template <typename Function>
double sum_of(const ReductionSpace& space, ConvertLoop to_double, const char* data, const Function& function) {
  alignas(64) char gathered[ElementWalk::kTileBytes];
  alignas(64) double values[ElementWalk::kTile];
  const ElementWalk& walk = space.inner();
  double total = 0;
  for (int64_t at = 0; at < walk.count();) {
    int64_t n = walk.tile_length(at, walk.count());
    to_double(walk.read(0, data, at, n, gathered), values, n);
    for (int64_t i = 0; i < n; ++i) values[i] = function(values[i]);
    total += loops().sum_f64(values, n);
    at += n;
  }
  return total;
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
  ConvertLoop to_double = loops().convert[static_cast<int>(self->dtype())][static_cast<int>(DType::float64)];
  double n = static_cast<double>(space.length());
  double degrees = std::max(0.0, n - correction_of(call));
  parallel_for(out->numel(), 1.5 * n, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const char* data = space.result_data(i);
      double mean = sum_of(space, to_double, data, [](double value) { return value; }) / n;
      double squares = sum_of(space, to_double, data, [mean](double value) { return (value - mean) * (value - mean); });
      double variance = space.length() == 0 ? std::numeric_limits<double>::quiet_NaN() : squares / degrees;
      store_scalar(out->dtype(), Scalar(root ? std::sqrt(variance) : variance),
                   out.data<char>() + static_cast<size_t>(i) * item_size(out->dtype()));
    }
  });
}

}  // namespace

void var_kernel(const OpCall& call, std::span<Tensor> outs) { deviation(call, outs[0], false); }
void std_kernel(const OpCall& call, std::span<Tensor> outs) { deviation(call, outs[0], true); }

}  // namespace md
