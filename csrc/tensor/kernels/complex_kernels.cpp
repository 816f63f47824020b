#include "tensor/kernels/complex_kernels.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/rounding.h"
#include "tensor/dtype_dispatch.h"
#include "tensor/fill.h"
#include "tensor/kernels/reduction.h"
#include "tensor/numeric_cast.h"
#include "tensor/ops/shape_rules.h"
#include "tensor/parallel/threads.h"
#include "tensor/simd/copy.h"
#include "tensor/simd/loops.h"

namespace md {
namespace {

// The arguments with another argument 0, and without a dtype, which it has.
std::vector<Arg> with_self(const OpCall& call, const Tensor& self) {
  std::vector<Arg> args(call.args.begin(), call.args.end());
  args[0] = self;
  int dtype = call.row.schema.find("dtype");
  if (dtype >= 0) args[static_cast<size_t>(dtype)] = Arg();
  return args;
}

constexpr int64_t kLeastInSum = 8;        // elements of a row: fewer are added by columns
constexpr int64_t kPieceOfSum = 1 << 16;  // that one thread adds

// Calls body(T()) for float or double.
template <typename Body>
void in_parts(DType dtype, Body body) {
  dtype == DType::complex64 ? body(float()) : body(double());
}

Tensor matrix_transposed(const Tensor& matrix) {
  TensorSpec spec = matrix.spec();
  int last = spec.rank() - 1;
  std::swap(spec.sizes[last], spec.sizes[last - 1]);
  std::swap(spec.strides[last], spec.strides[last - 1]);
  return Tensor::view(matrix, spec, matrix->offset());
}

Tensor like_parts(const Tensor& out) {
  return Tensor::empty(TensorSpec::contiguous(part_dtype(out->dtype()), out->spec().sizes));
}

void add(const Tensor& a, const Tensor& b, const Tensor& out, bool minus = false) {
  static const OpRow* const rows[] = {find_op("add"), find_op("sub")};
  Arg args[] = {a, b, Scalar(int64_t{1})};
  Tensor result = out;
  pointwise_kernel({*rows[minus], args}, {&result, 1});
}

}  // namespace

Tensor part_of_complex(const Tensor& tensor, int part) {
  TensorSpec spec = tensor.spec();
  spec.dtype = part_dtype(spec.dtype);
  for (Dim& stride : spec.strides) stride = stride * Dim(2);
  return Tensor::view(tensor, spec, offset_in(spec.dtype, tensor->offset(), tensor->dtype()) + part);
}

void run_on_sum_of_parts(Kernel kernel, const OpCall& call, const Tensor& out) {
  Tensor results[2];
  for (int part : {0, 1}) {
    results[part] = like_parts(out);
    std::vector<Arg> args = with_self(call, part_of_complex(tensor_arg(call, 0), part));
    kernel({call.row, args}, {&results[part], 1});
  }
  add(results[0], results[1], out);
}

void complex_product(const OpCall& call, const Tensor& out) {
  Tensor self = as_contiguous(tensor_arg(call, 0), out->dtype());
  ReductionSpace space(self, reduced_dims(call, call.args[1], self->rank()));
  with_any_type(out->dtype(), [&]<typename T>() {
    if constexpr (is_complex_type<T>) {
      parallel_for(out->numel(), 2.0 * static_cast<double>(space.length()), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const char* data = space.result_data(i);
          T total{1, 0};
          for (int64_t k = 0; k < space.length(); ++k) {
            T factor = *reinterpret_cast<const T*>(data + space.inner().offset(0, k));
            total = {total.re * factor.re - total.im * factor.im, total.re * factor.im + total.im * factor.re};
          }
          out.data<T>()[i] = total;
        }
      });
    }
  });
}

Tensor with_parts(const Tensor& tensor) {
  TensorSpec spec = tensor.spec();
  spec.dtype = part_dtype(spec.dtype);
  for (Dim& stride : spec.strides) stride = stride * Dim(2);
  spec.sizes.push_back(2);
  spec.strides.push_back(1);
  return Tensor::view(tensor, spec, tensor->offset() * 2);
}

Tensor with_wide_rows(const Tensor& tensor) {
  TensorSpec spec = tensor.spec();
  int last = spec.rank() - 1;
  spec.dtype = part_dtype(spec.dtype);
  for (Dim& stride : spec.strides) stride = stride * Dim(2);
  spec.sizes[last] = spec.sizes[last] * Dim(2);
  spec.strides[last] = 1;
  return Tensor::view(tensor, spec, tensor->offset() * 2);
}

bool complex_sum(const Tensor& self, const std::vector<bool>& reduced, const Tensor& out, bool is_mean) {
  if (self->dtype() != out->dtype()) return false;
  ReductionSpace space(self, reduced);
  if (!space.inner().is_dense(0) || space.length() < kLeastInSum) return false;
  in_parts(out->dtype(), [&]<typename T>(T) {
    int64_t pieces = ceil_div(space.length(), kPieceOfSum), results = space.results();
    std::vector<T> sums(static_cast<size_t>(2 * pieces * results));
    double ns = 0.5 * static_cast<double>(std::min(space.length(), kPieceOfSum));
    parallel_for(pieces * results, ns, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        int64_t first = i % pieces * kPieceOfSum, count = std::min(space.length() - first, kPieceOfSum);
        const auto* row = reinterpret_cast<const T*>(space.result_data(i / pieces));
        complex_loops_of<T>().sum(row + 2 * first, count, &sums[static_cast<size_t>(2 * i)]);
      }
    });
    T* totals = out.data<T>();
    for (int64_t i = 0; i < results; ++i) {
      complex_loops_of<T>().sum(&sums[static_cast<size_t>(2 * i * pieces)], pieces, totals + 2 * i);
      for (int part = 0; is_mean && part < 2; ++part) totals[2 * i + part] /= static_cast<T>(space.length());
    }
  });
  return true;
}

void complex_cumsum(const Tensor& self, int dim, const Tensor& out) {
  Tensor from = as_contiguous(self, out->dtype());
  if (self->rank() == 0 || out->numel() == 0) return copy_elements(from, out);
  int64_t length = self->sizes()[dim], width = 2;  // of elements side by side, in parts
  for (int i = dim + 1; i < self->rank(); ++i) width *= self->sizes()[i];
  in_parts(out->dtype(), [&]<typename T>(T) {
    auto add_up = [&](const T* src, T* dst) {
      std::copy_n(src, width, dst);
      for (int64_t x = width; x < length * width; ++x) dst[x] = dst[x - width] + src[x];
    };
    auto add_up_row = [&](const T* src, T* dst) {
      T re = 0, im = 0;
      for (int64_t x = 0; x < 2 * length; x += 2) {
        dst[x] = re += src[x];
        dst[x + 1] = im += src[x + 1];
      }
    };
    double ns = static_cast<double>(length * width);
    parallel_for(out->numel() * 2 / (length * width), ns, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T* src = from.data<T>() + i * length * width;
        T* dst = out.data<T>() + i * length * width;
        width == 2 ? add_up_row(src, dst) : add_up(src, dst);
      }
    });
  });
}

namespace {

using Multiply = void (*)(const Tensor& left, const Tensor& right, const Tensor& out);

// A matrix of rows of real numbers for one of complex numbers.
Tensor real_rows(const Tensor& matrix) {
  int last = matrix->rank() - 1;
  bool is_plain = matrix->strides()[last] == 1 || matrix->sizes()[last] == 1;
  return with_wide_rows(is_plain ? matrix : as_contiguous(matrix, matrix->dtype()));
}

// The real matrix by which real rows are multiplied in place of a complex one: of each element b, in the order of
// columns,
//   re(b)  im(b)
//  -im(b)  re(b)
// Its columns are contiguous.
Tensor real_pairs(const Tensor& matrix) {
  Tensor columns = as_contiguous(matrix->rank() < 2 ? matrix : matrix_transposed(matrix), matrix->dtype());
  int64_t k = columns->sizes()[columns->rank() - 1], n = k == 0 ? 0 : columns->numel() / k;
  TensorSpec spec = columns.spec();
  DimVec sizes(spec.sizes.span().first(static_cast<size_t>(std::max(spec.rank() - 2, 0))));
  sizes.push_back(matrix->rank() < 2 ? 2 : 2 * columns->sizes()[columns->rank() - 2]);
  sizes.push_back(2 * k);
  Tensor pairs = Tensor::empty(TensorSpec::contiguous(part_dtype(spec.dtype), sizes));
  in_parts(spec.dtype, [&]<typename T>(T) {
    parallel_for(n, static_cast<double>(k), [&](int64_t begin, int64_t end) {
      for (int64_t j = begin; j < end; ++j) {
        const T* from = columns.data<T>() + j * 2 * k;
        T *re = pairs.data<T>() + 2 * j * 2 * k, *im = re + 2 * k;
        for (int64_t p = 0; p < 2 * k; p += 2) {
          re[p] = from[p];
          re[p + 1] = -from[p + 1];
          im[p] = from[p + 1];
          im[p + 1] = from[p];
        }
      }
    });
  });
  return matrix_transposed(pairs);
}

bool is_vector(const Tensor& tensor, int dim) {
  return tensor->rank() == 1 || tensor->sizes()[tensor->rank() + dim] == 1;
}

// Rows of a vector's real and of its imaginary parts, times the real rows of a matrix.
void multiply_row(const Tensor& left, const Tensor& right, const Tensor& out, Multiply multiply) {
  TensorSpec rows = TensorSpec::contiguous(part_dtype(out->dtype()), {2, left->numel()});
  Tensor parts = Tensor::empty(rows);
  for (int part : {0, 1}) {
    TensorSpec row = TensorSpec::contiguous(rows.dtype, left.spec().sizes);
    copy_elements(part_of_complex(left, part), Tensor::view(parts, row, part * left->numel()));
  }
  int64_t n = out->numel();
  Tensor products = Tensor::empty(TensorSpec::contiguous(rows.dtype, {2, 2 * n}));
  multiply(parts, real_rows(right), products);
  in_parts(out->dtype(), [&]<typename T>(T) {
    const T *re = products.data<T>(), *im = re + 2 * n;
    T* to = out.data<T>();
    for (int64_t j = 0; j < 2 * n; j += 2) {
      to[j] = re[j] - im[j + 1];
      to[j + 1] = re[j + 1] + im[j];
    }
  });
}

void multiply_vectors(const Tensor& left, const Tensor& right, const Tensor& out) {
  Tensor a = as_contiguous(left, out->dtype()), b = as_contiguous(right, out->dtype());
  in_parts(out->dtype(),
           [&]<typename T>(T) { complex_loops_of<T>().dot(a.data<T>(), b.data<T>(), a->numel(), out.data<T>()); });
}

}  // namespace

void multiply_complex(const Tensor& left, const Tensor& right, const Tensor& out, Multiply multiply) {
  bool is_row = is_vector(left, -2), is_column = is_vector(right, -1);
  bool is_one = left->rank() <= 2 && right->rank() <= 2;
  if (is_one && is_row && is_column) return multiply_vectors(left, right, out);
  if (is_one && is_row) return multiply_row(left, right, out, multiply);
  Tensor result = right->rank() == 1 ? with_parts(out) : real_rows(out);
  multiply(real_rows(left), real_pairs(right), result);
}

void complex_number_kernel(const OpCall& call, std::span<Tensor> outs) {
  double re = scalar_arg(call, 0).as_double(), im = scalar_arg(call, 1).as_double();
  DType dtype = part_dtype(outs[0]->dtype());
  store_scalar(dtype, Scalar(re), outs[0]->data());
  store_scalar(dtype, Scalar(im), outs[0].data<char>() + item_size(dtype));
}

void complex_kernel(const OpCall& call, std::span<Tensor> outs) {
  for (int part : {0, 1}) {
    Tensor target = part_of_complex(outs[0], part);
    Arg args[] = {target, tensor_arg(call, part), Scalar(false)};
    copy_into_kernel({call.row, args}, {&target, 1});
  }
}

}  // namespace md
