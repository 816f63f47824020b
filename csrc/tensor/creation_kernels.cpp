// Kernels of ops that make tensors from numbers.
#include <cstring>

#include "tensor/call_args.h"
#include "tensor/creation.h"
#include "tensor/fill.h"
#include "tensor/kernels.h"
#include "tensor/loops.h"
#include "tensor/shape_rules.h"
#include "tensor/threads.h"

namespace md {
namespace {

// Fresh results are dense in some order of dims, so their elements fill the storage.
void fill(const Tensor& out, const Scalar& value) {
  alignas(8) char element[8];
  store_scalar(out->dtype(), value, element);
  size_t item = item_size(out->dtype());
  parallel_for(out->numel(), 0.05 * static_cast<double>(item), [&](int64_t begin, int64_t end) {
    fill_elements(out->dtype(), element, out.data<char>() + static_cast<size_t>(begin) * item, end - begin);
  });
}

// out[i] = function(i), computed in T.
template <typename T, typename Function>
void generate(const Tensor& out, DType computed, const Function& function) {
  ConvertLoop convert = loops().convert[static_cast<int>(computed)][static_cast<int>(out->dtype())];
  size_t item = item_size(out->dtype());
  parallel_for(out->numel(), 1.0, [&](int64_t begin, int64_t end) {
    constexpr int64_t kTile = 512;
    T values[kTile];
    for (int64_t at = begin; at < end; at += kTile) {
      int64_t n = std::min(kTile, end - at);
      for (int64_t i = 0; i < n; ++i) values[i] = function(at + i);
      convert(values, out.data<char>() + static_cast<size_t>(at) * item, n);
    }
  });
}

}  // namespace

void empty_kernel(const OpCall&, std::span<Tensor>) {}
void zeros_kernel(const OpCall&, std::span<Tensor> outs) { fill(outs[0], Scalar(int64_t{0})); }
void ones_kernel(const OpCall&, std::span<Tensor> outs) { fill(outs[0], Scalar(int64_t{1})); }
void full_kernel(const OpCall& call, std::span<Tensor> outs) {
  const Scalar& value = scalar_arg(call, call.row.schema.find("fill_value"));
  require_fits(call, outs[0]->dtype(), value);
  fill(outs[0], value);
}

void arange_kernel(const OpCall& call, std::span<Tensor> outs) {
  ArangeRange range = arange_range(call);
  bool whole = !range.start.is_float() && !range.step.is_float();
  if (whole) {
    uint64_t start = static_cast<uint64_t>(range.start.as_int()), step = static_cast<uint64_t>(range.step.as_int());
    generate<int64_t>(outs[0], DType::int64,
                      [=](int64_t i) { return static_cast<int64_t>(start + step * static_cast<uint64_t>(i)); });
  } else if (is_floating(outs[0]->dtype())) {
    double start = range.start.as_double(), step = range.step.as_double();
    generate<double>(outs[0], DType::float64, [=](int64_t i) { return start + step * static_cast<double>(i); });
  } else {
    // Integers from float bounds: torch truncates start and step first.
    int64_t start = range.start.as_int(), step = range.step.as_int();
    generate<int64_t>(outs[0], DType::int64, [=](int64_t i) { return start + step * i; });
  }
}

void linspace_kernel(const OpCall& call, std::span<Tensor> outs) {
  double start = scalar_arg(call, 0).as_double(), end = scalar_arg(call, 1).as_double();
  int64_t steps = outs[0]->numel();
  double step = steps > 1 ? (end - start) / static_cast<double>(steps - 1) : 0;
  // From both ends, so that the last element is exactly end.
  generate<double>(outs[0], DType::float64, [=](int64_t i) {
    return i < (steps + 1) / 2 ? start + step * static_cast<double>(i)
                               : end - step * static_cast<double>(steps - 1 - i);
  });
}

void eye_kernel(const OpCall&, std::span<Tensor> outs) {
  fill(outs[0], Scalar(int64_t{0}));
  int64_t columns = outs[0]->sizes()[1];
  size_t item = item_size(outs[0]->dtype());
  for (int64_t i = 0; i < std::min(outs[0]->sizes()[0], columns); ++i) {
    store_scalar(outs[0]->dtype(), Scalar(int64_t{1}),
                 outs[0].data<char>() + static_cast<size_t>(i * (columns + 1)) * item);
  }
}

}  // namespace md
