// Kernels of flips, rolls, repeats and sorts.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "tensor/dtype_dispatch.h"
#include "tensor/numeric_cast.h"
#include "tensor/ops/call_args.h"
#include "tensor/ops/kernels.h"
#include "tensor/ops/shape_rules.h"
#include "tensor/parallel/threads.h"
#include "tensor/simd/copy.h"

namespace md {
namespace {

// Copies position order[i] of the dim to position i.
void take_dim(const Tensor& src, int dim, const std::vector<int64_t>& order, const Tensor& out) {
  for (size_t i = 0; i < order.size(); ++i) {
    copy_elements(part_of(src, dim, order[i], 1), part_of(out, dim, static_cast<int64_t>(i), 1));
  }
}

void roll_dim(const Tensor& src, int dim, int64_t shift, const Tensor& out) {
  int64_t extent = src->sizes()[dim];
  int64_t by = ((shift % extent) + extent) % extent;
  copy_elements(part_of(src, dim, 0, extent - by), part_of(out, dim, by, extent - by));
  if (by > 0) copy_elements(part_of(src, dim, extent - by, by), part_of(out, dim, 0, by));
}

Tensor flattened(const Tensor& contiguous) {
  TensorSpec spec = TensorSpec::contiguous(contiguous->dtype(), DimVec({contiguous->numel()}));
  return Tensor::view(contiguous, spec, contiguous->offset());
}

// NaN counts as the largest; the order of equal elements is stable.
template <typename T>
bool comes_before(T a, T b, bool descending) {
  auto x = comparable(a), y = comparable(b);
  bool x_nan = x != x, y_nan = y != y;
  if (x_nan || y_nan) return descending ? x_nan && !y_nan : !x_nan && y_nan;
  return descending ? x > y : x < y;
}

// Slices of a contiguous copy with the sorted dim last; outputs the first `kept` of each.
template <typename T>
void sort_slices(const Tensor& slices, int64_t length, int64_t kept, bool descending, T* values, int64_t* indices) {
  int64_t count = length == 0 ? 0 : slices->numel() / length;
  parallel_for(count, 30.0 * static_cast<double>(length), [&](int64_t begin, int64_t end) {
    std::vector<int64_t> order(static_cast<size_t>(length));
    for (int64_t slice = begin; slice < end; ++slice) {
      const T* from = slices.data<T>() + slice * length;
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(),
                       [&](int64_t a, int64_t b) { return comes_before(from[a], from[b], descending); });
      for (int64_t i = 0; i < kept; ++i) {
        int64_t at = order[static_cast<size_t>(i)];
        indices[slice * kept + i] = at;
        if (values != nullptr) values[slice * kept + i] = from[at];
      }
    }
  });
}

// The tensor with `dim` moved to the end.
Tensor dim_last(const Tensor& tensor, int dim) {
  TensorSpec spec = tensor.spec();
  if (spec.rank() > 0) {
    Dim size = spec.sizes[dim], stride = spec.strides[dim];
    spec.sizes.erase(dim);
    spec.strides.erase(dim);
    spec.sizes.push_back(size);
    spec.strides.push_back(stride);
  }
  return Tensor::view(tensor, spec, tensor->offset());
}

void sort(const OpCall& call, int dim_arg, bool descending, const Tensor* values, const Tensor& indices) {
  const Tensor& self = tensor_arg(call, 0);
  int dim = wrap_dim(call, int_arg(call, dim_arg), self->rank());
  Tensor slices = as_contiguous(dim_last(self, dim), self->dtype());
  int64_t length = self->rank() == 0 ? 1 : self->sizes()[dim];
  Tensor index_slices = dim_last(indices, dim);
  int64_t kept = indices->rank() == 0 ? 1 : indices->sizes()[dim];
  Tensor sorted_indices = Tensor::empty(TensorSpec::contiguous(DType::int64, index_slices.spec().sizes));
  Tensor sorted = Tensor::empty(TensorSpec::contiguous(self->dtype(), index_slices.spec().sizes));
  with_type(self->dtype(), [&]<typename T>() {
    sort_slices<T>(slices, length, kept, descending, sorted.data<T>(), sorted_indices.data<int64_t>());
  });
  copy_elements(sorted_indices, index_slices);
  if (values != nullptr) copy_elements(sorted, dim_last(*values, dim));
}

}  // namespace

void flip_kernel(const OpCall& call, std::span<Tensor> outs) {
  const Tensor& out = outs[0];
  if (out->numel() == 0) return;
  Tensor current = as_contiguous(tensor_arg(call, 0), out->dtype());
  for (Dim wanted : dims_arg(call, 1)) {
    int dim = wrap_dim(call, wanted.value(), out->rank());
    if (out->rank() == 0) break;
    std::vector<int64_t> order(static_cast<size_t>(out->sizes()[dim]));
    std::iota(order.rbegin(), order.rend(), 0);
    Tensor next = Tensor::empty(TensorSpec::contiguous(out->dtype(), out->spec().sizes));
    take_dim(current, dim, order, next);
    current = next;
  }
  copy_elements(current, out);
}

void roll_kernel(const OpCall& call, std::span<Tensor> outs) {
  const Tensor& out = outs[0];
  if (out->numel() == 0) return;
  const DimVec& shifts = dims_arg(call, 1);
  const DimVec& dims = dims_arg(call, 2);
  Tensor current = as_contiguous(tensor_arg(call, 0), out->dtype());
  if (dims.empty()) {
    Tensor next = Tensor::empty(TensorSpec::contiguous(out->dtype(), out->spec().sizes));
    roll_dim(flattened(current), 0, shifts[0].value(), flattened(next));
    return copy_elements(next, out);
  }
  for (int i = 0; i < dims.size(); ++i) {
    int dim = wrap_dim(call, dims[i].value(), out->rank());
    if (out->rank() == 0) break;
    Tensor next = Tensor::empty(TensorSpec::contiguous(out->dtype(), out->spec().sizes));
    roll_dim(current, dim, shifts[i].value(), next);
    current = next;
  }
  copy_elements(current, out);
}

// Viewed as [repeats, size] pairs, the result is a copy of self expanded.
void repeat_kernel(const OpCall& call, std::span<Tensor> outs) {
  const Tensor& self = tensor_arg(call, 0);
  const Tensor& out = outs[0];
  if (out->numel() == 0) return;
  const DimVec& repeats = dims_arg(call, 1);
  TensorSpec from, to;
  from.dtype = to.dtype = out->dtype();
  int shift = repeats.size() - self->rank();
  for (int i = 0; i < repeats.size(); ++i) {
    Dim size = i < shift ? Dim(1) : self.spec().sizes[i - shift];
    for (TensorSpec* spec : {&from, &to}) {
      spec->sizes.push_back(repeats[i]);
      spec->sizes.push_back(size);
    }
    from.strides.push_back(0);
    from.strides.push_back(i < shift ? Dim(0) : self.spec().strides[i - shift]);
    to.strides.push_back(size * out.spec().strides[i]);
    to.strides.push_back(out.spec().strides[i]);
  }
  copy_elements(Tensor::view(self, from, self->offset()), Tensor::view(out, to, out->offset()));
}

void outer_kernel(const OpCall& call, std::span<Tensor> outs) {
  static const OpRow* const mul = find_op("mul");
  const Tensor& a = tensor_arg(call, 0);
  TensorSpec column = a.spec();
  column.sizes.push_back(1);
  column.strides.push_back(1);
  Arg args[] = {Tensor::view(a, column, a->offset()), tensor_arg(call, 1)};
  pointwise_kernel({*mul, args}, outs);
}

void sort_kernel(const OpCall& call, std::span<Tensor> outs) { sort(call, 1, bool_arg(call, 2), &outs[0], outs[1]); }
void argsort_kernel(const OpCall& call, std::span<Tensor> outs) { sort(call, 1, bool_arg(call, 2), nullptr, outs[0]); }
void topk_kernel(const OpCall& call, std::span<Tensor> outs) { sort(call, 2, bool_arg(call, 3), &outs[0], outs[1]); }

}  // namespace md
