// Ops on whole slices: softmax, log_softmax, layer_norm, cumsum, cumprod.
#include <cmath>

#include "tensor/kernels/column_blocks.h"
#include "tensor/kernels/complex_kernels.h"
#include "tensor/kernels/dim_slices.h"
#include "tensor/kernels/scan_columns.h"
#include "tensor/kernels/softmax.h"
#include "tensor/kernels/softmax_columns.h"
#include "tensor/ops/call_args.h"
#include "tensor/ops/kernels.h"
#include "tensor/ops/shape_rules.h"
#include "tensor/simd/copy.h"

namespace md {
namespace {

// dst may be src.
template <typename T>
void softmax_slice(const FloatLoops<T>& run, const T* src, T* dst, int64_t n) {
  T shift = run.max(src, n);
  T scale = T(1) / run.exp_sum(src, shift, dst, n);
  const void* operands[] = {dst, &scale};
  pointwise_loop(static_cast<int>(Pointwise::mul), dtype_of<T>(), 2)(operands, dst, n, nullptr);
}

// dst may be src.
template <typename T>
void log_softmax_slice(const FloatLoops<T>& run, const T* src, T* dst, int64_t n) {
  std::vector<T> room(src == dst ? static_cast<size_t>(n) : 0);
  T shift = run.max(src, n);
  T log_sum = std::log(run.exp_sum(src, shift, src == dst ? room.data() : dst, n));
  const PointwiseLoop subtract = pointwise_loop(static_cast<int>(Pointwise::sub), dtype_of<T>(), 2);
  const void *whole[] = {src, &shift}, *shifted[] = {dst, &log_sum};
  subtract(whole, dst, n, nullptr);
  subtract(shifted, dst, n, nullptr);
}

template <typename Run>
void in_computing_type(DType dtype, const Run& run) {
  if (dtype == DType::float64) {
    run(double{});
  } else {
    run(float{});
  }
}

// Calls run(src, dst, n) for slices that are contiguous and already in the compute dtype; returns false otherwise.
template <typename T, typename Run>
bool for_plain_rows(const Tensor& self, const Tensor& out, int dim, double ns_per_item, const Run& run) {
  bool in_rows = self->rank() > 0 && dim == self->rank() - 1 && self->is_contiguous() &&
                 self->dtype() == dtype_of<T>() && out->dtype() == dtype_of<T>() && self->numel() > 0;
  if (!in_rows) return false;
  int64_t n = self->sizes()[dim];
  parallel_for(self->numel() / n, ns_per_item * static_cast<double>(n), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) run(self.data<const T>() + i * n, out.data<T>() + i * n, n);
  });
  return true;
}

void softmax(const OpCall& call, const Tensor& out, bool logarithm) {
  const Tensor& self = tensor_arg(call, 0);
  int dim = wrap_dim(call, int_arg(call, 1), self->rank());
  ColumnResult result = logarithm ? ColumnResult::LogSoftmax : ColumnResult::Softmax;
  if (softmax_columns(self, out, dim, result)) return;
  if (ColumnBlocks::pay(self, out, dim)) return softmax_blocks(self, out, dim, result);
  in_computing_type(out->dtype(), [&]<typename T>(T) {
    const FloatLoops<T>& run = loops_of<T>();
    auto slice = [&](const T* src, T* dst, int64_t n) {
      logarithm ? log_softmax_slice<T>(run, src, dst, n) : softmax_slice<T>(run, src, dst, n);
    };
    if (for_plain_rows<T>(self, out, dim, 0.5, slice)) return;
    for_slices<T>(self, out, dim, 2.0, [&](T* values, int64_t n) { slice(values, values, n); });
  });
}

// Flattens the normalised dims, given a contiguous copy.
Tensor as_lines(const Tensor& tensor, int64_t length) {
  int64_t rows = length == 0 ? 0 : tensor->numel() / length;
  return Tensor::view(tensor, TensorSpec::contiguous(tensor->dtype(), {rows, length}), tensor->offset());
}

// A function of its own: inlined among calls, the total would lie in memory, where each step waits for the one before.
template <typename T, typename Total, typename Combine>
[[gnu::noinline]] Total accumulate_piece(T* values, int64_t n, Total total, const Combine& combine) {
  for (int64_t i = 0; i < n; ++i) {
    total = combine(total, static_cast<Total>(values[i]));
    values[i] = static_cast<T>(total);
  }
  return total;
}

// Prefix reduction starting from `neutral`; integers wrap around.
template <typename Combine>
void accumulate(const OpCall& call, const Tensor& out, int neutral, const Combine& combine) {
  const Tensor& self = tensor_arg(call, 0);
  int dim = wrap_dim(call, int_arg(call, 1), self->rank());
  if (!is_floating(out->dtype())) {
    auto start = static_cast<uint64_t>(neutral);
    scan_slices<int64_t>(self, out, dim, 1.0, start, [&](int64_t* values, int64_t n, uint64_t& total) {
      total = accumulate_piece(values, n, total, combine);
    });
    return;
  }
  in_computing_type(out->dtype(), [&]<typename T>(T) {
    // In double: float32 would lose a bit with each doubling of the length.
    scan_slices<T>(self, out, dim, 1.0, double(neutral),
                   [&](T* values, int64_t n, double& total) { total = accumulate_piece(values, n, total, combine); });
  });
}

}  // namespace

void softmax_rows(DType dtype, void* values, int64_t rows, int64_t n) {
  in_computing_type(dtype, [&]<typename T>(T) {
    const FloatLoops<T>& run = loops_of<T>();
    if (dtype == dtype_of<T>()) {
      T* row = static_cast<T*>(values);
      for (int64_t i = 0; i < rows; ++i, row += n) softmax_slice<T>(run, row, row, n);
      return;
    }
    ConvertLoop load = loops().convert[static_cast<int>(dtype)][static_cast<int>(dtype_of<T>())];
    ConvertLoop save = loops().convert[static_cast<int>(dtype_of<T>())][static_cast<int>(dtype)];
    StoragePtr line = Storage::allocate(static_cast<size_t>(n) * sizeof(T));
    T* wide = static_cast<T*>(line->data());
    for (int64_t i = 0; i < rows; ++i) {
      std::byte* row = static_cast<std::byte*>(values) + static_cast<size_t>(i * n) * item_size(dtype);
      load(row, wide, n);
      softmax_slice<T>(run, wide, wide, n);
      save(wide, row, n);
    }
  });
}

void softmax_kernel(const OpCall& call, std::span<Tensor> outs) { softmax(call, outs[0], false); }
void log_softmax_kernel(const OpCall& call, std::span<Tensor> outs) { softmax(call, outs[0], true); }

void layer_norm_kernel(const OpCall& call, std::span<Tensor> outs) {
  if (outs[0]->numel() == 0) return;
  Tensor self = as_contiguous(tensor_arg(call, 0), tensor_arg(call, 0)->dtype());
  int64_t length = product(dims_arg(call, 1).span()).value();
  double eps = scalar_arg(call, 4).as_double();
  in_computing_type(self->dtype(), [&]<typename T>(T) {
    Tensor weight = arg_is_none(call, 2) ? Tensor() : as_contiguous(tensor_arg(call, 2), dtype_of<T>());
    Tensor bias = arg_is_none(call, 3) ? Tensor() : as_contiguous(tensor_arg(call, 3), dtype_of<T>());
    const T* scale = weight.defined() ? weight.data<T>() : nullptr;
    const T* shift = bias.defined() ? bias.data<T>() : nullptr;
    const FloatLoops<T>& run = loops_of<T>();
    if (self->dtype() != dtype_of<T>()) {
      return for_slices<T>(as_lines(self, length), as_lines(outs[0], length), 1, 0.5,
                           [&](T* values, int64_t n) { run.normalize(values, values, n, eps, scale, shift); });
    }
    parallel_for(self->numel() / length, 0.2 * static_cast<double>(length), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        run.normalize(self.data<T>() + i * length, outs[0].data<T>() + i * length, length, eps, scale, shift);
    });
  });
}

void cumsum_kernel(const OpCall& call, std::span<Tensor> outs) {
  const Tensor& self = tensor_arg(call, 0);
  int dim = wrap_dim(call, int_arg(call, 1), self->rank());
  if (is_complex(outs[0]->dtype())) return complex_cumsum(self, dim, outs[0]);
  if (scan_columns(self, outs[0], dim, Pointwise::add, 0)) return;
  if (ColumnBlocks::pay(self, outs[0], dim)) return scan_blocks(self, outs[0], dim, Pointwise::add, 0);
  if (is_floating(outs[0]->dtype())) {
    return in_computing_type(outs[0]->dtype(), [&]<typename T>(T) {
      const FloatLoops<T>& run = loops_of<T>();
      auto row = [&](const T* src, T* dst, int64_t n) { run.running_sum(src, dst, n, 0.0); };
      if (for_plain_rows<T>(self, outs[0], dim, 0.3, row)) return;
      scan_slices<T>(self, outs[0], dim, 1.0, 0.0, [&](T* values, int64_t n, double& before) {
        before = run.running_sum(values, values, n, before);
      });
    });
  }
  accumulate(call, outs[0], 0, [](auto total, auto value) { return total + value; });
}

void cumprod_kernel(const OpCall& call, std::span<Tensor> outs) {
  const Tensor& self = tensor_arg(call, 0);
  int dim = wrap_dim(call, int_arg(call, 1), self->rank());
  if (scan_columns(self, outs[0], dim, Pointwise::mul, 1)) return;
  if (!is_complex(outs[0]->dtype()) && ColumnBlocks::pay(self, outs[0], dim))
    return scan_blocks(self, outs[0], dim, Pointwise::mul, 1);
  accumulate(call, outs[0], 1, [](auto total, auto value) { return total * value; });
}

}  // namespace md
