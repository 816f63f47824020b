// Kernels of flips, rolls and repeats.
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

}  // namespace

void flip_kernel(const OpCall& call, std::span<Tensor> outs) {
  const Tensor& out = outs[0];
  if (out->numel() == 0) return;
  const Tensor& self = tensor_arg(call, 0);
  TensorSpec backwards = self.spec();
  int64_t first = self->offset();
  for (Dim wanted : dims_arg(call, 1)) {
    if (out->rank() == 0) break;
    int dim = wrap_dim(call, wanted.value(), out->rank());
    int64_t stride = self->strides()[dim];
    first += (self->sizes()[dim] - 1) * stride;
    backwards.strides[dim] = -stride;
  }
  copy_elements(Tensor::view(self, backwards, first), out);
}

void roll_kernel(const OpCall& call, std::span<Tensor> outs) {
  const Tensor& out = outs[0];
  if (out->numel() == 0) return;
  const DimVec& shifts = dims_arg(call, 1);
  const DimVec& dims = dims_arg(call, 2);
  Tensor current = tensor_arg(call, 0);
  auto room = [&] { return Tensor::empty(TensorSpec::contiguous(out->dtype(), out->spec().sizes)); };
  if (dims.empty()) {
    Tensor next = out->is_contiguous() ? out : room();
    roll_dim(flattened(as_contiguous(current, out->dtype())), 0, shifts[0].value(), flattened(next));
    if (!out->is_contiguous()) copy_elements(next, out);
    return;
  }
  if (out->rank() == 0) return copy_elements(current, out);
  for (int i = 0; i < dims.size(); ++i) {
    Tensor next = i + 1 < dims.size() ? room() : out;
    roll_dim(current, wrap_dim(call, dims[i].value(), out->rank()), shifts[i].value(), next);
    current = next;
  }
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

}  // namespace md
