// Distances between the rows of one matrix, or of two.
#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "tensor/ops/call_args.h"
#include "tensor/ops/kernels.h"
#include "tensor/parallel/threads.h"
#include "tensor/simd/copy.h"
#include "tensor/simd/lane_table.h"
#include "tensor/simd/loops.h"

namespace md {
namespace {

// By columns, (width, step): the distances of a row to all others are computed side by side.
template <typename T>
void pair_distances(const Tensor& columns, int64_t count, PairNorm norm, const Tensor& out) {
  int64_t width = columns->sizes()[0];
  PairRows<T> rows = {columns.data<const T>(), columns->sizes()[1], width};
  // A few rows at a time, those of the beginning and of the end together: all have the same work. The last rows of the
  // matrix are taken again, so that there always are as many.
  int64_t blocks = (count - 1 + kPairRows - 1) / kPairRows;
  double ns = 0.05 * static_cast<double>(kPairRows * count * (width + 4));
  parallel_for((blocks + 1) / 2, ns, [&](int64_t begin, int64_t end) {
    std::vector<T> found(static_cast<size_t>(kPairRows * count));
    auto run = [&](int64_t block) {
      int64_t first = block * kPairRows, start = std::max<int64_t>(std::min(first, count - kPairRows), 0);
      int64_t n = count - first - 1;
      loops().lanes->of<T>().pair_norms(rows, norm, start, first + 1, n, found.data());
      for (int64_t i = first; i < std::min(first + kPairRows, count - 1); ++i) {
        const T* row = found.data() + (i - start) * n + (i - first);
        std::copy(row, row + count - i - 1, out.data<T>() + i * (2 * count - i - 1) / 2);
      }
    };
    for (int64_t block = begin; block < end; ++block) {
      run(block);
      if (blocks - 1 - block > block) run(blocks - 1 - block);
    }
  });
}

// The columns of both matrices of a pair side by side, in room for as many rows as are read at once.
Tensor joined_columns(const Tensor& a, const Tensor& b, int64_t pairs, DType dtype) {
  int last = a->rank() - 1;
  int64_t of_a = a->sizes()[last - 1], of_b = b->sizes()[last - 1], width = a->sizes()[last];
  int64_t step = std::max(of_a + of_b, kPairRows);
  Tensor columns = Tensor::empty(TensorSpec::contiguous(dtype, DimVec{pairs, width, step}));
  if (step > of_a + of_b) std::memset(columns->data(), 0, static_cast<size_t>(columns->numel()) * item_size(dtype));
  int64_t begin = 0;
  for (const Tensor* each : {&a, &b}) {
    Tensor rows = as_contiguous(*each, dtype);
    int64_t count = rows->sizes()[last - 1];
    TensorSpec turned = TensorSpec::contiguous(dtype, DimVec{pairs, width, count});
    turned.strides = {width * count, 1, width};
    copy_elements(Tensor::view(rows, turned, rows->offset()), part_of(columns, 2, begin, count));
    begin += count;
  }
  return columns;
}

// All of b for a few rows of a at a time. The last rows of a are taken again, so that there always are as many.
template <typename T>
void cross_distances(const Tensor& columns, int64_t of_a, int64_t of_b, PairNorm norm, const Tensor& out) {
  int64_t width = columns->sizes()[1], step = columns->sizes()[2], blocks = (of_a + kPairRows - 1) / kPairRows;
  double ns = 0.05 * static_cast<double>(kPairRows * of_b * (width + 4));
  parallel_for(columns->sizes()[0] * blocks, ns, [&](int64_t begin, int64_t end) {
    std::vector<T> found;
    for (int64_t i = begin; i < end; ++i) {
      int64_t pair = i / blocks, first = i % blocks * kPairRows, count = std::min(kPairRows, of_a - first);
      int64_t start = std::max<int64_t>(std::min(first, of_a - kPairRows), 0);
      PairRows<T> rows = {columns.data<const T>() + pair * width * step, step, width};
      T* to = out.data<T>() + (pair * of_a + first) * of_b;
      bool fits = count == kPairRows;
      if (!fits) found.resize(static_cast<size_t>(kPairRows * of_b));
      loops().lanes->of<T>().pair_norms(rows, norm, start, of_a, of_b, fits ? to : found.data());
      if (!fits) std::copy_n(found.data() + (first - start) * of_b, count * of_b, to);
    }
  });
}

PairNorm norm_arg(const OpCall& call, int index) {
  constexpr std::array kNorms = {PairNorm::Count, PairNorm::Sum, PairNorm::Root, PairNorm::Largest};
  return kNorms.at(static_cast<size_t>(int_arg(call, index)));
}

}  // namespace

void pair_distances_kernel(const OpCall& call, std::span<Tensor> outs) {
  const Tensor &self = tensor_arg(call, 0), &out = outs[0];
  if (out->numel() == 0) return;
  TensorSpec turned = self.spec();
  std::swap(turned.sizes[0], turned.sizes[1]);
  std::swap(turned.strides[0], turned.strides[1]);
  // With as many rows as are read at once.
  int64_t count = self->sizes()[0], step = std::max(count, kPairRows);
  Tensor columns = Tensor::empty(TensorSpec::contiguous(out->dtype(), DimVec{turned.sizes[0], step}));
  if (step > count) std::memset(columns->data(), 0, static_cast<size_t>(columns->numel()) * item_size(out->dtype()));
  copy_elements(Tensor::view(self, turned, self->offset()), part_of(columns, 1, 0, count));
  PairNorm norm = norm_arg(call, 1);
  if (out->dtype() == DType::float64)
    pair_distances<double>(columns, count, norm, out);
  else
    pair_distances<float>(columns, count, norm, out);
}

void cross_distances_kernel(const OpCall& call, std::span<Tensor> outs) {
  const Tensor &a = tensor_arg(call, 0), &b = tensor_arg(call, 1), &out = outs[0];
  if (out->numel() == 0) return;
  int64_t of_a = a->sizes()[a->rank() - 2], of_b = b->sizes()[b->rank() - 2];
  Tensor columns = joined_columns(a, b, out->numel() / (of_a * of_b), out->dtype());
  if (out->dtype() == DType::float64)
    cross_distances<double>(columns, of_a, of_b, norm_arg(call, 2), out);
  else
    cross_distances<float>(columns, of_a, of_b, norm_arg(call, 2), out);
}

}  // namespace md
