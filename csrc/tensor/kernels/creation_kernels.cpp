// Kernels of ops that create tensors from numbers.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "tensor/fill.h"
#include "tensor/ops/call_args.h"
#include "tensor/ops/kernels.h"
#include "tensor/ops/shape_rules.h"
#include "tensor/parallel/threads.h"
#include "tensor/shapes/creation.h"
#include "tensor/simd/element_walk.h"
#include "tensor/simd/loops.h"

namespace md {
namespace {

// New results are dense in some order of dims, so their elements fill the storage.
void fill(const Tensor& out, const Scalar& value) {
  alignas(8) char element[ElementWalk::kMostItem];
  store_scalar(out->dtype(), value, element);
  auto item = static_cast<int64_t>(item_size(out->dtype()));
  parallel_for(out->numel(), 0.05 * static_cast<double>(item), [&](int64_t begin, int64_t end) {
    copy_items(item, element, 0, out.data<char>() + begin * item, item, end - begin);
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

// torch writes a single element without checking the range of the half types.
void require_fill_fits(const OpCall& call, const Tensor& out, const Scalar& value) {
  bool single_half = out->numel() == 1 && is_half(out->dtype());
  if (!single_half) require_fits(call, out->dtype(), value);
}

// A number, or the element of a 0-d tensor.
static Scalar number_arg(const OpCall& call, int index) {
  if (arg_is<Scalar>(call, index)) return scalar_arg(call, index);
  const Tensor& tensor = tensor_arg(call, index);
  return load_scalar(tensor->dtype(), tensor->data());
}

void empty_kernel(const OpCall&, std::span<Tensor>) {}
void zeros_kernel(const OpCall&, std::span<Tensor> outs) { fill(outs[0], Scalar(int64_t{0})); }
void ones_kernel(const OpCall&, std::span<Tensor> outs) { fill(outs[0], Scalar(int64_t{1})); }
void full_kernel(const OpCall& call, std::span<Tensor> outs) {
  const Scalar& value = scalar_arg(call, call.row.schema.find("fill_value"));
  require_fill_fits(call, outs[0], value);
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
  Scalar first = number_arg(call, 0), last = number_arg(call, 1);
  int64_t steps = outs[0]->numel();
  if (steps == 1) require_fill_fits(call, outs[0], first);
  for (const Scalar* bound : {&first, &last})
    if (steps > 1) require_fits(call, outs[0]->dtype(), *bound);
  bool whole = !is_floating(outs[0]->dtype());
  double start = whole ? std::trunc(first.as_double()) : first.as_double();
  double end = whole ? std::trunc(last.as_double()) : last.as_double();
  double step = steps > 1 ? (end - start) / static_cast<double>(steps - 1) : 0;
  // From both ends, so that the last element is exactly `end`.
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
