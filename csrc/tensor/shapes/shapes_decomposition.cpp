// Shape rules of matrix decompositions and solvers. The last two dims are a matrix, those before a batch.
#include <utility>

#include "tensor/ops/call_args.h"
#include "tensor/ops/shape_rules.h"

namespace md {
namespace {

Dim rows_of(const TensorSpec& spec) { return spec.sizes[spec.rank() - 2]; }
Dim columns_of(const TensorSpec& spec) { return spec.sizes[spec.rank() - 1]; }

const TensorSpec& matrices_arg(const OpCall& call, int index) {
  const TensorSpec& spec = tensor_arg(call, index).spec();
  const std::string& name = call.row.schema.params[static_cast<size_t>(index)].name;
  if (spec.rank() < 2) {
    raise_op(ErrorKind::Runtime, call.row.name, "The input tensor ", name, " must have at least 2 dimensions",
             operand_shapes(call));
  }
  bool takes_complex = call.row.has(kTakesComplex);
  if (takes_complex && is_complex(spec.dtype)) return spec;
  if (!is_floating(spec.dtype)) {
    raise_op(ErrorKind::Runtime, call.row.name, "Expected a floating point ", takes_complex ? "or complex " : "",
             "tensor as input. Got ", row(spec.dtype).name);
  }
  if (spec.dtype != DType::float32 && spec.dtype != DType::float64) {
    raise_op(ErrorKind::Runtime, call.row.name, "Low precision dtypes not supported. Got ", row(spec.dtype).name);
  }
  return spec;
}

const TensorSpec& square_arg(const OpCall& call, int index) {
  const TensorSpec& spec = matrices_arg(call, index);
  if (!known_equal(rows_of(spec), columns_of(spec))) {
    raise_op(ErrorKind::Runtime, call.row.name, call.row.schema.params[static_cast<size_t>(index)].name,
             " must be batches of square matrices", operand_shapes(call));
  }
  return spec;
}

DimVec stack_sizes(const TensorSpec& spec) {
  DimVec sizes = spec.sizes;
  sizes.resize(spec.rank() - 2);
  return sizes;
}

void push(std::vector<OutSpec>& outs, DType dtype, DimVec sizes, std::initializer_list<Dim> last) {
  for (Dim dim : last) sizes.push_back(dim);
  outs.push_back({TensorSpec::contiguous(dtype, std::move(sizes)), 0});
}

// Consecutive matrices in column-major order: LAPACK's layout, and torch's strides.
void push_matrices(std::vector<OutSpec>& outs, DType dtype, DimVec stack, Dim rows, Dim columns) {
  push(outs, dtype, std::move(stack), {columns, rows});
  TensorSpec& spec = outs.back().spec;
  int last = spec.rank() - 1;
  std::swap(spec.sizes[last], spec.sizes[last - 1]);
  std::swap(spec.strides[last], spec.strides[last - 1]);
}

// The last result of rows that say which matrices have failed.
void push_infos(const OpCall& call, std::vector<OutSpec>& outs, const TensorSpec& matrices) {
  if (call.row.schema.returns.size() > outs.size()) push(outs, DType::int32, stack_sizes(matrices), {});
}

// The operands' batches must have equal sizes: the callers broadcast them.
void require_one_stack(const OpCall& call, const TensorSpec& a, const TensorSpec& b) {
  bool fits = a.dtype == b.dtype && a.rank() == b.rank() && known_equal(rows_of(a), rows_of(b));
  for (int i = 0; fits && i < a.rank() - 2; ++i) fits = known_equal(a.sizes[i], b.sizes[i]);
  if (!fits) raise_op(ErrorKind::Runtime, call.row.name, "Incompatible matrices", operand_shapes(call));
}

}  // namespace

void square_matrices_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  const TensorSpec& a = square_arg(call, 0);
  push_matrices(outs, a.dtype, stack_sizes(a), rows_of(a), columns_of(a));
  push_infos(call, outs, a);
}

void lu_factor_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  const TensorSpec& a = matrices_arg(call, 0);
  Dim m = rows_of(a), n = columns_of(a);
  push_matrices(outs, a.dtype, stack_sizes(a), m, n);
  push(outs, DType::int32, stack_sizes(a), {known_less(m, n) ? m : n});
  push_infos(call, outs, a);
}

void pivot_order_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  const TensorSpec& pivots = tensor_arg(call, 0).spec();
  if (pivots.rank() < 1 || pivots.dtype != DType::int32) {
    raise_op(ErrorKind::Runtime, call.row.name, "pivots must be int32 tensors of at least 1 dimension",
             operand_shapes(call));
  }
  DimVec sizes = pivots.sizes;
  sizes[pivots.rank() - 1] = dim_arg(call, 1);
  push(outs, DType::int64, std::move(sizes), {});
}

void solve_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  const TensorSpec& a = square_arg(call, 0);
  const TensorSpec& b = matrices_arg(call, 1);
  require_one_stack(call, a, b);
  push_matrices(outs, b.dtype, stack_sizes(b), rows_of(b), columns_of(b));
  push_infos(call, outs, a);
}

void determinant_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  const TensorSpec& a = square_arg(call, 0);
  for (size_t i = 0; i < call.row.schema.returns.size(); ++i) push(outs, a.dtype, stack_sizes(a), {});
}

void qr_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  const TensorSpec& a = matrices_arg(call, 0);
  const std::string& mode = arg_as<std::string>(call, 1);
  Dim m = rows_of(a), n = columns_of(a);
  if (mode != "reduced" && mode != "complete" && mode != "r") {
    raise_op(ErrorKind::Runtime, call.row.name, "received unrecognized mode '", mode,
             "' but expected one of 'reduced' (default), 'r', or 'complete'");
  }
  Dim inner = mode == "complete" || known_less(m, n) ? m : n;
  if (mode == "r") {
    push(outs, a.dtype, {}, {Dim(0)});
  } else {
    push_matrices(outs, a.dtype, stack_sizes(a), m, inner);
  }
  push_matrices(outs, a.dtype, stack_sizes(a), inner, n);
}

void reflections_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  const TensorSpec& a = matrices_arg(call, 0);
  Dim m = rows_of(a), n = columns_of(a);
  push_matrices(outs, a.dtype, stack_sizes(a), m, n);
  push(outs, a.dtype, stack_sizes(a), {known_less(m, n) ? m : n});
}

// As the reflected matrix, by default as A.
void reflected_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  const TensorSpec& a = matrices_arg(call, 0);
  const TensorSpec& tau = tensor_arg(call, 1).spec();
  int other_index = call.row.schema.find("other");
  const TensorSpec& other = other_index < 0 ? a : matrices_arg(call, other_index);
  bool fits = tau.rank() == a.rank() - 1 && other.rank() == a.rank() && tau.dtype == a.dtype &&
              other.dtype == a.dtype && known_equal(rows_of(other), rows_of(a));
  for (int i = 0; fits && i + 2 < a.rank(); ++i)
    fits = known_equal(tau.sizes[i], a.sizes[i]) && known_equal(other.sizes[i], a.sizes[i]);
  if (!fits) raise_op(ErrorKind::Runtime, call.row.name, "the operands do not fit together", operand_shapes(call));
  push_matrices(outs, other.dtype, stack_sizes(other), rows_of(other), columns_of(other));
}

void svd_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  const TensorSpec& a = matrices_arg(call, 0);
  Dim m = rows_of(a), n = columns_of(a), least = known_less(m, n) ? m : n;
  bool full = arg_as<std::string>(call, 1) == "full";
  push_matrices(outs, a.dtype, stack_sizes(a), m, full ? m : least);
  push(outs, a.dtype, stack_sizes(a), {least});
  push_matrices(outs, a.dtype, stack_sizes(a), full ? n : least, n);
}

void singular_values_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  const TensorSpec& a = matrices_arg(call, 0);
  Dim m = rows_of(a), n = columns_of(a);
  push(outs, a.dtype, stack_sizes(a), {known_less(m, n) ? m : n});
}

void eigh_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  const TensorSpec& a = square_arg(call, 0);
  const std::string& triangle = arg_as<std::string>(call, 1);
  if (triangle != "L" && triangle != "U") {
    raise_op(ErrorKind::Runtime, call.row.name, "Expected UPLO argument to be 'L' or 'U', but got ", triangle);
  }
  push(outs, a.dtype, stack_sizes(a), {columns_of(a)});
  if (call.row.schema.returns.size() > 1) push_matrices(outs, a.dtype, stack_sizes(a), rows_of(a), columns_of(a));
}

void eig_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  const TensorSpec& a = tensor_arg(call, 0).spec();
  bool fits = a.rank() >= 2 && known_equal(rows_of(a), columns_of(a));
  if (!fits || (!is_complex(a.dtype) && a.dtype != DType::float32 && a.dtype != DType::float64))
    raise_op(ErrorKind::Runtime, call.row.name, "A must be batches of square matrices of floats", operand_shapes(call));
  DType dtype = is_complex(a.dtype) ? a.dtype : complex_dtype(a.dtype);
  push(outs, dtype, stack_sizes(a), {columns_of(a)});
  if (call.row.schema.returns.size() > 1) push_matrices(outs, dtype, stack_sizes(a), rows_of(a), columns_of(a));
}

void lstsq_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  const TensorSpec& a = matrices_arg(call, 0);
  const TensorSpec& b = matrices_arg(call, 1);
  require_one_stack(call, a, b);
  push(outs, a.dtype, stack_sizes(a), {columns_of(a), columns_of(b)});
  push(outs, DType::int64, stack_sizes(a), {});
}

}  // namespace md
