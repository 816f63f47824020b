// Matrix products: our own loops for float32 and float64, oneDNN for batches and 16-bit floats, simple loops for
// integers.
#include <algorithm>
#include <array>
#include <cmath>

#include "tensor/fill.h"
#include "tensor/gemm/gemm.h"
#include "tensor/gemm/packed_weights.h"
#include "tensor/gemm/row_product.h"
#include "tensor/gemm/split_matmul.h"
#include "tensor/kernels/complex_kernels.h"
#include "tensor/ops/call_args.h"
#include "tensor/ops/kernels.h"
#include "tensor/ops/shape_rules.h"
#include "tensor/parallel/threads.h"
#include "tensor/simd/copy.h"
#include "tensor/simd/loops.h"
#include "tensor/simd/pointwise.h"

namespace md {
namespace {

// One operand as a batch of matrices: strides of (row, column) and the offset of each matrix.
struct Stack {
  Tensor tensor;
  int64_t rows = 1, columns = 1, row_stride = 0, column_stride = 0;
};

struct Product {
  Stack a, b;
  const Tensor& out;
  int64_t m, n, k, batch;
  bool b_is_weight = false;
  const char* data(const Stack& stack, int64_t offset) const {
    return stack.tensor.data<char>() + offset * static_cast<int64_t>(item_size(stack.tensor->dtype()));
  }
};

// A vector is a row on the left and a column on the right.
Stack stack_of(const Tensor& tensor, bool left) {
  Stack stack;
  stack.tensor = tensor;
  int rank = tensor->rank();
  const int64_t* sizes = tensor->sizes();
  const int64_t* strides = tensor->strides();
  if (rank == 1) {
    (left ? stack.columns : stack.rows) = sizes[0];
    (left ? stack.column_stride : stack.row_stride) = strides[0];
  } else {
    stack.rows = sizes[rank - 2];
    stack.columns = sizes[rank - 1];
    stack.row_stride = strides[rank - 2];
    stack.column_stride = strides[rank - 1];
  }
  // A dim of size one may have any stride: choose the one that makes the matrix contiguous.
  if (stack.columns == 1) stack.column_stride = 1;
  if (stack.rows == 1) stack.row_stride = stack.column_stride == 1 ? std::max<int64_t>(stack.columns, 1) : 1;
  if (stack.columns == 1 && stack.row_stride != 1 && stack.rows > 1) stack.column_stride = 1;
  return stack;
}

bool is_plain(const Stack& stack) {
  bool by_rows = stack.column_stride == 1 && (stack.row_stride >= stack.columns);
  bool by_columns = stack.row_stride == 1 && (stack.column_stride >= stack.rows);
  return by_rows || by_columns;
}

// Offsets of the matrices in the batch, batch dims broadcast to out's.
std::vector<int64_t> batch_offsets(const Tensor& operand, const Tensor& out, int batch_rank, int64_t batch) {
  std::vector<int64_t> offsets(static_cast<size_t>(batch), 0);
  int own = std::max(operand->rank() - 2, 0);
  for (int64_t i = 0; i < batch; ++i) {
    int64_t rest = i;
    for (int d = batch_rank - 1; d >= 0; --d) {
      int64_t position = rest % out->sizes()[d];
      rest /= out->sizes()[d];
      int source = d - (batch_rank - own);
      if (source >= 0 && operand->sizes()[source] != 1)
        offsets[static_cast<size_t>(i)] += position * operand->strides()[source];
    }
  }
  return offsets;
}

// The stride between matrices if it is constant and not negative: the batch is then one oneDNN call.
bool even_stride(const std::vector<int64_t>& offsets, int64_t* stride) {
  *stride = offsets.size() > 1 ? offsets[1] : 0;
  if (*stride < 0) return false;
  for (size_t i = 0; i < offsets.size(); ++i) {
    if (offsets[i] != static_cast<int64_t>(i) * *stride) return false;
  }
  return true;
}

double flops_ns(const Product& p) {
  return static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k) / 40;
}

RowProduct row_product(const Product& p) {
  return {.n = p.n,
          .k = p.k,
          .a_row = p.a.row_stride,
          .a_step = p.a.column_stride,
          .b_row = p.b.row_stride,
          .b_step = p.b.column_stride,
          .c_row = p.n};
}

template <typename T>
void multiply_small(const Product& p, const T* a, const T* b, T* c) {
  // A vector times a large matrix is split by columns; a matrix times a vector by rows.
  if (p.m == 1 && p.n > 1) {
    parallel_for(p.n, 0.1 * static_cast<double>(p.k), [&](int64_t begin, int64_t end) {
      RowProduct part = row_product(p);
      part.n = end - begin;
      multiply_rows(part, a, b + begin * p.b.column_stride, c + begin, 0, 1);
    });
  } else {
    parallel_for(p.m, flops_ns(p) / static_cast<double>(p.m),
                 [&](int64_t begin, int64_t end) { multiply_rows(row_product(p), a, b, c, begin, end); });
  }
}

constexpr int64_t kSmall = 16 * 16 * 16;

// gemm reads b by rows faster than multiply_small, but does not multiply every batch.
bool takes_gemm(const Product& p) {
  return p.out->dtype() == DType::float64 || (p.batch == 1 && gemm_replaces_onednn());
}

bool is_small(const Product& p) {
  bool usable = p.b.column_stride == 1 || (p.b.row_stride == 1 && p.a.column_stride == 1);
  bool row = p.m == 1 && (p.b.row_stride == 1 || !takes_gemm(p));
  bool vector = row || (p.n == 1 && p.a.column_stride == 1);
  return usable && (vector || p.m * p.n * p.k <= kSmall);
}

void multiply(const Tensor& left, const Tensor& right, const Tensor& out, bool right_is_weight = false);

// Integers: sums wrap around.
template <typename T>
void multiply_integers(const Product& p, const T* a, const T* b, T* c) {
  for (int64_t i = 0; i < p.m; ++i) {
    for (int64_t j = 0; j < p.n; ++j) {
      uint64_t total = 0;
      for (int64_t q = 0; q < p.k; ++q) {
        total += static_cast<uint64_t>(static_cast<int64_t>(a[i * p.a.row_stride + q * p.a.column_stride])) *
                 static_cast<uint64_t>(static_cast<int64_t>(b[q * p.b.row_stride + j * p.b.column_stride]));
      }
      c[i * p.n + j] = static_cast<T>(total);
    }
  }
}

// The largest magnitude of the elements; of int64_t's least, a number beyond every other.
double largest_magnitude(const Tensor& whole) {
  const ExtremeLoop* extreme = loops().extreme[static_cast<int>(whole->dtype())];
  double largest = 0;
  for (int side = 0; side < 2; ++side) {
    alignas(8) char found[8] = {};
    extreme[side](whole->data(), whole->numel(), found);
    largest = std::max(largest, std::fabs(load_scalar(whole->dtype(), found).as_double()));
  }
  return largest;
}

// Integers as doubles, where no sum is too large to be exact: our own products of these are much faster.
bool multiply_as_doubles(const Tensor& left, const Tensor& right, const Tensor& out) {
  constexpr double kExact = 9007199254740992.0;
  constexpr int64_t kLeastSize = 8;
  bool are_matrices = left->rank() >= 2 && right->rank() >= 2;
  if (!are_matrices || is_floating(out->dtype()) || out->dtype() == DType::uint64 || left->numel() == 0 ||
      right->numel() == 0)
    return false;
  int64_t k = left->sizes()[left->rank() - 1], m = left->sizes()[left->rank() - 2],
          n = right->sizes()[right->rank() - 1];
  if (std::min({m, n, k}) < kLeastSize) return false;
  Tensor a = as_contiguous(left, left->dtype()), b = as_contiguous(right, right->dtype());
  if (static_cast<double>(k) * largest_magnitude(a) * largest_magnitude(b) > kExact) return false;
  Tensor product = Tensor::empty(TensorSpec::contiguous(DType::float64, out->spec().sizes));
  multiply(as_contiguous(a, DType::float64), as_contiguous(b, DType::float64), product);
  // By int64_t, of which narrower integers are the last bits.
  copy_elements(as_contiguous(product, DType::int64), out);
  return true;
}

template <typename T>
void multiply_blocks(const Product& p, const T* a, const T* b, T* c) {
  if (is_small(p)) return multiply_small(p, a, b, c);
  gemm(GemmProblem<T>{.m = p.m,
                      .n = p.n,
                      .k = p.k,
                      .a = a,
                      .a_row = p.a.row_stride,
                      .a_step = p.a.column_stride,
                      .b = b,
                      .b_row = p.b.row_stride,
                      .b_step = p.b.column_stride,
                      .c = c,
                      .c_row = p.n});
}

MatmulSpec onednn_spec(const Product& p, int64_t batch, std::array<int64_t, 3> strides) {
  MatmulSpec spec;
  spec.dtype = p.out->dtype();
  spec.batch = batch;
  spec.m = p.m;
  spec.n = p.n;
  spec.k = p.k;
  spec.a_strides = {strides[0], p.a.row_stride, p.a.column_stride};
  spec.b_strides = {strides[1], p.b.row_stride, p.b.column_stride};
  spec.c_strides = {strides[2], p.n, 1};
  return spec;
}

// With b in place, or packed if it is a weight that was seen before.
bool run_onednn(const Product& p, int64_t batch, std::array<int64_t, 3> strides, const void* a, const void* b,
                void* c) {
  MatmulSpec spec = onednn_spec(p, batch, strides);
  MatmulOperands operands = {.a = a, .b = b, .bias = nullptr, .c = c};
  if (p.b_is_weight && batch == 1 && spec.m <= kMostRowsForPacking) {
    spec.packs_weights = true;
    SplitMatmulPtr product = SplitMatmul::make(spec);
    StoragePtr packed = product ? find_packed(*p.b.tensor->storage().get(), b, *product) : StoragePtr();
    if (packed) {
      operands.b = packed->data();
      product->run(operands);
      return true;
    }
    spec.packs_weights = false;
  }
  SplitMatmulPtr product = SplitMatmul::make(spec);
  if (product == nullptr) return false;
  product->run(operands);
  return true;
}

template <typename T>
void multiply_each(const Product& p, const std::vector<int64_t>& a, const std::vector<int64_t>& b,
                   void (*multiply)(const Product&, const T*, const T*, T*)) {
  for (int64_t i = 0; i < p.batch; ++i) {
    multiply(p, p.a.tensor.data<T>() + a[static_cast<size_t>(i)], p.b.tensor.data<T>() + b[static_cast<size_t>(i)],
             p.out.data<T>() + i * p.m * p.n);
  }
}

// oneDNN multiplies a batch in one call, which costs more than a small product; large matrices are read in place.
bool own_loops_pay(const Product& p) {
  constexpr int64_t kBelow = 64 * 64 * 64, kFrom = 704 * 704 * 704;
  int64_t multiplications = p.m * p.n * p.k;
  return (p.batch == 1 && gemm_replaces_onednn()) || multiplications <= kBelow || multiplications >= kFrom;
}

bool multiply_floats(const Product& p, const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  if (p.out->dtype() == DType::float32 && is_small(p)) {
    multiply_each<float>(p, a, b, multiply_small<float>);
    return true;
  }
  if (p.out->dtype() == DType::float32 && !p.b_is_weight && own_loops_pay(p)) {
    multiply_each<float>(p, a, b, multiply_blocks<float>);
    return true;
  }
  int64_t a_stride, b_stride;
  bool even = even_stride(a, &a_stride) && even_stride(b, &b_stride);
  if (even && run_onednn(p, p.batch, {a_stride, b_stride, p.batch > 1 ? p.m * p.n : 0}, p.a.tensor->data(),
                         p.b.tensor->data(), p.out->data())) {
    return true;
  }
  for (int64_t i = 0; i < p.batch; ++i) {
    size_t index = static_cast<size_t>(i);
    char* c = p.out.data<char>() + static_cast<size_t>(i * p.m * p.n) * item_size(p.out->dtype());
    if (!run_onednn(p, 1, {0, 0, 0}, p.data(p.a, a[index]), p.data(p.b, b[index]), c)) {
      MD_ASSERT(i == 0, "oneDNN lost a matmul between two calls");
      return false;
    }
  }
  return true;
}

// Half precision without hardware support: in float32.
void multiply_in_float(const Tensor& a, const Tensor& b, const Tensor& out) {
  Tensor result = Tensor::empty(TensorSpec::contiguous(DType::float32, out->spec().sizes));
  multiply(as_contiguous(a, DType::float32), as_contiguous(b, DType::float32), result);
  copy_elements(result, out);
}

bool is_same_memory(const Tensor& a, const Tensor& b) { return a->storage().get() == b->storage().get(); }

Product make_product(const Tensor& left, const Tensor& right, const Tensor& out) {
  Product p{stack_of(left, true), stack_of(right, false), out, 0, 0, 0, 1, false};
  bool transposed_ok = is_floating(out->dtype());
  auto usable = [&](const Stack& stack) { return is_plain(stack) && (transposed_ok || stack.column_stride == 1); };
  if (!usable(p.a)) p.a = stack_of(as_contiguous(left, left->dtype()), true);
  bool dots = p.b.row_stride == 1 && p.a.column_stride == 1 && p.a.rows == 1;
  if (!usable(p.b) && !dots) p.b = stack_of(as_contiguous(right, right->dtype()), false);
  p.m = p.a.rows;
  p.k = p.a.columns;
  p.n = p.b.columns;
  p.batch = p.m * p.n == 0 ? 0 : out->numel() / (p.m * p.n);
  return p;
}

template <typename T>
void multiply_complex_each(const Product& p, const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  constexpr int64_t kLeastColumns = 64;  // for a thread
  int64_t pieces = p.batch > 1 ? 1 : std::max<int64_t>(p.n / kLeastColumns, 1);
  double ns = 4 * flops_ns(p) / static_cast<double>(pieces);
  parallel_for(p.batch * pieces, ns, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end;) {
      auto matrix = static_cast<size_t>(i / pieces);
      int64_t piece = i % pieces, stop = std::min(piece + end - i, pieces);
      int64_t first = piece * kLeastColumns, last = stop == pieces ? p.n : stop * kLeastColumns;
      complex_loops_of<T>().multiply({.m = p.m,
                                      .n = last - first,
                                      .k = p.k,
                                      .a = p.a.tensor.data<Complex<T>>() + a[matrix],
                                      .a_row = p.a.row_stride,
                                      .a_step = p.a.column_stride,
                                      .b = p.b.tensor.data<Complex<T>>() + b[matrix] + first,
                                      .b_row = p.b.row_stride,
                                      .c = p.out.data<Complex<T>>() + i / pieces * p.m * p.n + first,
                                      .c_row = p.n});
      i += stop - piece;
    }
  });
}

// Complex matrices in place, where the right one stays in the L2 cache or is read few times.
bool multiply_complex_rows(const Tensor& left, const Tensor& right, const Tensor& out) {
  constexpr int64_t kMostBytes = int64_t{1} << 20, kMostRows = 16, kMostSteps = 8;
  Product p{stack_of(left, true), stack_of(right, false), out, 0, 0, 0, 1, false};
  p.m = p.a.rows;
  p.k = p.a.columns;
  p.n = p.b.columns;
  bool is_dot = p.n == 1 && (p.m == 1 || p.a.column_stride == 1);
  int64_t bytes = p.k * p.n * static_cast<int64_t>(item_size(out->dtype()));
  bool reads_once = p.m <= kMostRows || p.k <= kMostSteps;
  if (is_dot || p.k == 0 || (bytes > kMostBytes && !reads_once)) return false;
  if (p.b.column_stride != 1) p.b = stack_of(as_contiguous(right, right->dtype()), false);
  p.batch = out->numel() / (p.m * p.n);
  int batch_rank = std::max({left->rank(), right->rank(), 2}) - 2;
  std::vector<int64_t> a = batch_offsets(p.a.tensor, out, batch_rank, p.batch);
  std::vector<int64_t> b = batch_offsets(p.b.tensor, out, batch_rank, p.batch);
  out->dtype() == DType::complex64 ? multiply_complex_each<float>(p, a, b) : multiply_complex_each<double>(p, a, b);
  return true;
}

void multiply(const Tensor& left, const Tensor& right, const Tensor& out, bool right_is_weight) {
  if (out->numel() == 0) return;
  if (is_complex(out->dtype()) && multiply_complex_rows(left, right, out)) return;
  if (is_complex(out->dtype()))
    return multiply_complex(left, right, out,
                            [](const Tensor& a, const Tensor& b, const Tensor& into) { multiply(a, b, into); });
  if (multiply_as_doubles(left, right, out)) return;
  Product p = make_product(left, right, out);
  p.b_is_weight = right_is_weight && is_same_memory(p.b.tensor, right);
  if (p.k == 0) {
    std::fill_n(out.data<char>(), static_cast<size_t>(out->numel()) * item_size(out->dtype()), 0);
    return;
  }
  int batch_rank = std::max({left->rank(), right->rank(), 2}) - 2;
  std::vector<int64_t> a = batch_offsets(p.a.tensor, out, batch_rank, p.batch);
  std::vector<int64_t> b = batch_offsets(p.b.tensor, out, batch_rank, p.batch);
  switch (out->dtype()) {
    case DType::float64:
      return multiply_each<double>(p, a, b, multiply_blocks<double>);
    case DType::float32:
    case DType::float16:
    case DType::bfloat16:
      if (multiply_floats(p, a, b)) return;
      if (out->dtype() != DType::float32) return multiply_in_float(left, right, out);
      p.b = stack_of(as_contiguous(right, right->dtype()), false);
      return multiply_each<float>(p, a, batch_offsets(p.b.tensor, out, batch_rank, p.batch), multiply_small<float>);
    case DType::uint8:
    case DType::int8:
      return multiply_each<int8_t>(p, a, b, multiply_integers<int8_t>);
    case DType::uint16:
    case DType::int16:
      return multiply_each<int16_t>(p, a, b, multiply_integers<int16_t>);
    case DType::uint32:
    case DType::int32:
      return multiply_each<int32_t>(p, a, b, multiply_integers<int32_t>);
    case DType::uint64:
    case DType::int64:
      return multiply_each<int64_t>(p, a, b, multiply_integers<int64_t>);
    case DType::bool_:
    case DType::complex64:
    case DType::complex128:
      break;
  }
  MD_ASSERT(false, "matrix product of ", row(out->dtype()).name);
}

// out = function(out, other), broadcasting other: bias and beta * self.
void combine(const char* op, const Tensor& out, const Arg& other, Arg alpha) {
  static const OpRow* const add = find_op("add");
  static const OpRow* const mul = find_op("mul");
  bool is_add = std::string_view(op) == "add";
  Tensor result = out;
  if (is_add) {
    Arg args[] = {out, other, std::move(alpha)};
    pointwise_kernel({*add, args}, {&result, 1});
  } else {
    Arg args[] = {out, other};
    pointwise_kernel({*mul, args}, {&result, 1});
  }
}

Tensor transposed(const Tensor& matrix) {
  if (matrix->rank() < 2) return matrix;
  TensorSpec spec = matrix.spec();
  std::swap(spec.sizes[0], spec.sizes[1]);
  std::swap(spec.strides[0], spec.strides[1]);
  return Tensor::view(matrix, spec, matrix->offset());
}

// Leading dims of a contiguous input are rows of one matrix.
Tensor as_matrix(const Tensor& tensor) {
  Tensor plain = as_contiguous(tensor, tensor->dtype());
  int64_t columns = plain->sizes()[plain->rank() - 1];
  int64_t rows = 1;
  for (int i = 0; i < plain->rank() - 1; ++i) rows *= plain->sizes()[i];
  return Tensor::view(plain, TensorSpec::contiguous(plain->dtype(), {rows, columns}), plain->offset());
}

}  // namespace

void matmul_kernel(const OpCall& call, std::span<Tensor> outs) {
  const Tensor& left = tensor_arg(call, 0);
  const Tensor& right = tensor_arg(call, 1);
  // A batch times one matrix is one product of all the batch's rows.
  if (left->rank() > 2 && right->rank() == 2) {
    Tensor rows = as_matrix(left);
    TensorSpec spec = TensorSpec::contiguous(outs[0]->dtype(), {rows->sizes()[0], right->sizes()[1]});
    return multiply(rows, right, Tensor::view(outs[0], spec, outs[0]->offset()));
  }
  multiply(left, right, outs[0]);
}

// For integers the factor is truncated. A bool is a number.
Scalar factor_of(const OpCall& call, int arg, DType dtype) {
  const Scalar& factor = scalar_arg(call, arg);
  require_fits(call, scalar_operand_dtype(dtype), factor);
  return is_inexact(dtype) && factor.is_float() ? factor : Scalar(factor.as_int());
}

void addmm_kernel(const OpCall& call, std::span<Tensor> outs) {
  multiply(tensor_arg(call, 1), tensor_arg(call, 2), outs[0]);
  Scalar beta = factor_of(call, 3, outs[0]->dtype()), alpha = factor_of(call, 4, outs[0]->dtype());
  if (alpha.as_double() != 1) combine("mul", outs[0], alpha, {});
  // beta 0 ignores self, including its NaNs.
  if (beta.as_double() == 0) return;
  const Tensor& self = tensor_arg(call, 0);
  if (fits(self->dtype(), beta)) return combine("add", outs[0], self, beta);
  // The factor may exceed the range of the half types.
  Tensor scaled = Tensor::empty(TensorSpec::contiguous(self->dtype(), self.spec().sizes));
  static const OpRow* const mul = find_op("mul");
  Arg args[] = {self, beta};
  pointwise_kernel({*mul, args}, {&scaled, 1});
  combine("add", outs[0], scaled, Scalar(int64_t{1}));
}

void linear_kernel(const OpCall& call, std::span<Tensor> outs) {
  const Tensor& input = tensor_arg(call, 0);
  const Tensor& weight = tensor_arg(call, 1);
  const Tensor& out = outs[0];
  if (weight->rank() == 2 && input->rank() > 1) {
    Tensor rows = as_matrix(input);
    TensorSpec spec = TensorSpec::contiguous(out->dtype(), {rows->sizes()[0], weight->sizes()[0]});
    multiply(rows, transposed(weight), Tensor::view(out, spec, out->offset()), true);
  } else {
    multiply(input, transposed(weight), out, true);
  }
  if (!arg_is_none(call, 2)) combine("add", out, tensor_arg(call, 2), Scalar(int64_t{1}));
}

}  // namespace md
