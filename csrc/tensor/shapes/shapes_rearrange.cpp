// Shape rules of ops that rearrange elements: views by dim names, flips, rolls, repeats, sorts.
#include <algorithm>

#include "tensor/ops/call_args.h"
#include "tensor/ops/shape_rules.h"
#include "tensor/shapes/shape_support.h"

namespace md {
namespace {

std::vector<int> wrapped_dims(const OpCall& call, const DimVec& dims, int rank) {
  std::vector<int> wrapped;
  for (Dim dim : dims) {
    int at = wrap_dim(call, dim.value(), rank);
    if (std::find(wrapped.begin(), wrapped.end(), at) != wrapped.end()) {
      raise_op(ErrorKind::Runtime, call.row.name, "dim ", at, " appears multiple times in the list of dims");
    }
    wrapped.push_back(at);
  }
  return wrapped;
}

}  // namespace

void diagonal_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  const TensorSpec& self = self_spec(call);
  // Beyond the end of any tensor, with headroom for additions.
  constexpr int64_t kFar = int64_t{1} << 60;
  int64_t offset = std::clamp(int_arg(call, 1), -kFar, kFar);
  int dim1 = wrap_dim(call, int_arg(call, 2), self.rank());
  int dim2 = wrap_dim(call, int_arg(call, 3), self.rank());
  if (dim1 == dim2) {
    raise_op(ErrorKind::Runtime, call.row.name, "diagonal dimensions cannot be identical ", int_arg(call, 2), ", ",
             int_arg(call, 3), operand_shapes(call));
  }
  Dim rows = offset < 0 ? self.sizes[dim1] - Dim(-offset) : self.sizes[dim1];
  Dim columns = offset > 0 ? self.sizes[dim2] - Dim(offset) : self.sizes[dim2];
  Dim length = known_less(rows, columns) ? rows : columns;
  if (known_less(length, 0)) length = 0;
  TensorSpec spec;
  spec.dtype = self.dtype;
  for (int i = 0; i < self.rank(); ++i) {
    if (i == dim1 || i == dim2) continue;
    spec.sizes.push_back(self.sizes[i]);
    spec.strides.push_back(self.strides[i]);
  }
  spec.sizes.push_back(length);
  spec.strides.push_back(self.strides[dim1] + self.strides[dim2]);
  bool is_empty = known_equal(length, 0);
  Dim start = is_empty ? Dim(0) : offset < 0 ? Dim(-offset) * self.strides[dim1] : Dim(offset) * self.strides[dim2];
  outs.push_back({std::move(spec), start});
}

void movedim_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  const TensorSpec& self = self_spec(call);
  std::vector<int> source = wrapped_dims(call, dims_arg(call, 1), self.rank());
  std::vector<int> destination = wrapped_dims(call, dims_arg(call, 2), self.rank());
  if (source.size() != destination.size()) {
    raise_op(ErrorKind::Runtime, call.row.name, "Invalid source or destination dims: source (", source.size(),
             " dims) should contain the same number of dims as destination (", destination.size(), " dims)");
  }
  std::vector<int> order(static_cast<size_t>(self.rank()), -1);
  for (size_t i = 0; i < source.size() && self.rank() > 0; ++i) order[static_cast<size_t>(destination[i])] = source[i];
  int next = 0;
  for (int& dim : order) {
    if (dim >= 0) continue;
    while (std::find(source.begin(), source.end(), next) != source.end()) ++next;
    dim = next++;
  }
  TensorSpec spec;
  spec.dtype = self.dtype;
  for (int dim : order) {
    spec.sizes.push_back(self.sizes[dim]);
    spec.strides.push_back(self.strides[dim]);
  }
  outs.push_back({std::move(spec), 0});
}

// As expand to the sizes of the other tensor.
void expand_as_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  Arg args[] = {call.args[0], tensor_arg(call, 1).spec().sizes};
  expand_shape({call.row, args}, outs);
}

// flip, roll.
void same_elements_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  const TensorSpec& self = self_spec(call);
  bool is_roll = call.args.size() == 3;
  const DimVec& dims = dims_arg(call, is_roll ? 2 : 1);
  if (is_roll) {
    size_t shifts = static_cast<size_t>(dims_arg(call, 1).size());
    if (shifts == 0) raise_op(ErrorKind::Runtime, call.row.name, "`shifts` required");
    bool flattens = dims.empty() && shifts == 1;
    if (!flattens && shifts != static_cast<size_t>(dims.size())) {
      raise_op(ErrorKind::Runtime, call.row.name, "shifts and dimensions must align. shifts: ", shifts,
               ", dims:", dims.size());
    }
    if (self.rank() == 0 && !dims.empty()) {
      raise_op(ErrorKind::Index, call.row.name, "Dimension specified as ", dims[0].str(),
               " but tensor has no dimensions");
    }
    for (Dim dim : dims) wrap_dim(call, dim.value(), self.rank());
  } else {
    wrapped_dims(call, dims, self.rank());
  }
  push_contiguous(outs, self.dtype, self.sizes);
}

void repeat_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  const TensorSpec& self = self_spec(call);
  const DimVec& repeats = dims_arg(call, 1);
  if (repeats.size() < self.rank()) {
    raise_op(ErrorKind::Runtime, call.row.name,
             "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor, got ",
             repeats.size(), " for shape ", str(self.sizes.span()));
  }
  DimVec sizes = repeats;
  for (int i = 0; i < repeats.size(); ++i) {
    if (known_less(repeats[i], 0)) {
      raise_op(ErrorKind::Runtime, call.row.name, "Trying to create tensor with negative dimension ", repeats[i].str());
    }
    int own = i - (repeats.size() - self.rank());
    if (own >= 0) sizes[i] = sizes[i] * self.sizes[own];
  }
  push_contiguous(outs, self.dtype, std::move(sizes));
}

void mv_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  if (self_spec(call).rank() != 2 || tensor_arg(call, 1)->rank() != 1) {
    raise_op(ErrorKind::Runtime, call.row.name, "vector + matrix @ vector expected, got ", self_spec(call).rank(), ", ",
             tensor_arg(call, 1)->rank(), operand_shapes(call));
  }
  matmul_shape(call, outs);
}

void dot_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  const TensorSpec& a = self_spec(call);
  const TensorSpec& b = tensor_arg(call, 1).spec();
  if (a.rank() != 1 || b.rank() != 1) {
    raise_op(ErrorKind::Runtime, call.row.name, "1D tensors expected, but got ", a.rank(), "D and ", b.rank(),
             "D tensors", operand_shapes(call));
  }
  if (!known_equal(a.sizes[0], b.sizes[0])) {
    raise_op(ErrorKind::Runtime, call.row.name, "inconsistent tensor size, expected tensor ", str(a.sizes.span()),
             " and src ", str(b.sizes.span()), " to have the same number of elements");
  }
  matmul_shape(call, outs);
}

void outer_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  const TensorSpec& a = self_spec(call);
  const TensorSpec& b = tensor_arg(call, 1).spec();
  if (a.rank() != 1 || b.rank() != 1) {
    raise_op(ErrorKind::Runtime, call.row.name, "Expected 1-D arguments, but got ", a.rank(), "-D and ", b.rank(), "-D",
             operand_shapes(call));
  }
  push_contiguous(outs, a.dtype, {a.sizes[0], b.sizes[0]});
}

// Sorted values and their indices: sort, topk. argsort has only the indices.
void sort_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  const TensorSpec& self = self_spec(call);
  wrap_dim(call, int_arg(call, 1), self.rank());
  bool has_values = call.row.schema.returns.size() > 1;
  if (has_values) push_contiguous(outs, self.dtype, self.sizes);
  push_contiguous(outs, DType::int64, self.sizes);
}

void sorted_values_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  const TensorSpec& self = self_spec(call);
  wrap_dim(call, int_arg(call, 1), self.rank());
  push_contiguous(outs, self.dtype, self.sizes);
}

void sorted_rows_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  const TensorSpec& self = self_spec(call);
  if (self.rank() != 2) raise_op(ErrorKind::Runtime, call.row.name, "expected a matrix", operand_shapes(call));
  push_contiguous(outs, DType::int64, {self.sizes[0]});
}

void pair_distances_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  const TensorSpec& self = self_spec(call);
  bool fits = self.rank() == 2 && (self.dtype == DType::float32 || self.dtype == DType::float64);
  if (!fits)
    raise_op(ErrorKind::Runtime, call.row.name, "expected a matrix of float32 or float64, got ", row(self.dtype).name,
             operand_shapes(call));
  int64_t norm = int_arg(call, 1);
  if (norm < 0 || norm > 3) raise_op(ErrorKind::Runtime, call.row.name, "there is no norm ", norm);
  push_contiguous(outs, self.dtype, {floor_divide(self.sizes[0] * (self.sizes[0] - 1), 2)});
}

void cross_distances_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  const TensorSpec &a = tensor_arg(call, 0).spec(), &b = tensor_arg(call, 1).spec();
  int last = a.rank() - 1;
  bool fits = last >= 1 && b.rank() == a.rank() && a.dtype == b.dtype &&
              (a.dtype == DType::float32 || a.dtype == DType::float64) && known_equal(a.sizes[last], b.sizes[last]);
  for (int i = 0; fits && i + 1 < last; ++i) fits = known_equal(a.sizes[i], b.sizes[i]);
  if (!fits)
    raise_op(ErrorKind::Runtime, call.row.name, "expected matrices of float32 or float64 with equally long rows",
             operand_shapes(call));
  int64_t norm = int_arg(call, 2);
  if (norm < 0 || norm > 3) raise_op(ErrorKind::Runtime, call.row.name, "there is no norm ", norm);
  DimVec sizes = a.sizes;
  sizes[last] = b.sizes[last - 1];
  push_contiguous(outs, a.dtype, std::move(sizes));
}

namespace {

// Of the arguments from the log probabilities on: (steps, sequences, classes), and for each sequence both lengths.
void require_sequences(const OpCall& call, int first) {
  const TensorSpec &logs = tensor_arg(call, first).spec(), &targets = tensor_arg(call, first + 1).spec();
  bool fits = logs.rank() == 3 && (logs.dtype == DType::float32 || logs.dtype == DType::float64) &&
              (targets.rank() == 1 || (targets.rank() == 2 && known_equal(targets.sizes[0], logs.sizes[1])));
  for (int i = first + 2; fits && i < first + 4; ++i) {
    const TensorSpec& lengths = tensor_arg(call, i).spec();
    fits = lengths.rank() == 1 && known_equal(lengths.sizes[0], logs.sizes[1]);
  }
  if (!fits) raise_op(ErrorKind::Runtime, call.row.name, "sequences that do not fit together", operand_shapes(call));
}

}  // namespace

void ctc_losses_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  require_sequences(call, 0);
  const TensorSpec& logs = tensor_arg(call, 0).spec();
  push_contiguous(outs, logs.dtype, {logs.sizes[1]});
}

void ctc_slopes_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  require_sequences(call, 1);
  const TensorSpec& logs = tensor_arg(call, 1).spec();
  push_contiguous(outs, logs.dtype, logs.sizes);
}

void bin_counts_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  const TensorSpec& self = self_spec(call);
  if (is_floating(self.dtype))
    raise_op(ErrorKind::Runtime, call.row.name, "expected integers, got ", row(self.dtype).name);
  push_contiguous(outs, DType::int64, {dim_arg(call, 1)});
}

void kthvalue_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  const TensorSpec& self = self_spec(call);
  Dim k = dim_arg(call, 1);
  int dim = wrap_dim(call, int_arg(call, 2), self.rank());
  Dim extent = self.rank() == 0 ? Dim(1) : self.sizes[dim];
  if (known_equal(extent, 0)) {
    raise_op(ErrorKind::Index, call.row.name, "Expected reduction dim ", dim, " to have non-zero size.",
             operand_shapes(call));
  }
  if (known_less(k, 1) || known_less(extent, k)) {
    raise_op(ErrorKind::Runtime, call.row.name, "selected number k out of range for dimension ", dim, ": ", k.str(),
             " of ", extent.str(), operand_shapes(call));
  }
  if (self.dtype == DType::bool_) raise_op(ErrorKind::Runtime, call.row.name, "does not support bool dtypes");
  DimVec sizes = self.sizes;
  if (self.rank() > 0 && bool_arg(call, 3)) {
    sizes[dim] = 1;
  } else if (self.rank() > 0) {
    sizes.erase(dim);
  }
  push_contiguous(outs, self.dtype, sizes);
  push_contiguous(outs, DType::int64, sizes);
}

void take_ranks_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  const TensorSpec& self = self_spec(call);
  int dim = wrap_dim(call, int_arg(call, 2), self.rank());
  if (self.rank() == 0) raise_op(ErrorKind::Index, call.row.name, "cannot be applied to a 0-dim tensor.");
  DimVec sizes = self.sizes;
  sizes[dim] = dims_arg(call, 1).size();
  push_contiguous(outs, self.dtype, std::move(sizes));
}

void take_ranks_of_rows_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  const TensorSpec& self = self_spec(call);
  const TensorSpec& ranks = tensor_arg(call, 1).spec();
  bool fits = self.rank() > 0 && self.rank() == ranks.rank() && ranks.dtype == DType::int64;
  for (int i = 0; fits && i + 1 < self.rank(); ++i) fits = known_equal(self.sizes[i], ranks.sizes[i]);
  if (!fits) raise_op(ErrorKind::Runtime, call.row.name, "self and ranks do not fit together", operand_shapes(call));
  push_contiguous(outs, self.dtype, ranks.sizes);
}

void topk_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  const TensorSpec& self = self_spec(call);
  int64_t k = int_arg(call, 1);
  int dim = wrap_dim(call, int_arg(call, 2), self.rank());
  Dim extent = self.rank() == 0 ? Dim(1) : self.sizes[dim];
  if (k < 0 || known_less(extent, Dim(k))) {
    raise_op(ErrorKind::Runtime, call.row.name, "selected index k out of range: ", k, " of ", extent.str(),
             operand_shapes(call));
  }
  if (self.dtype == DType::bool_) raise_op(ErrorKind::Runtime, call.row.name, "does not support bool dtypes");
  DimVec sizes = self.sizes;
  if (self.rank() > 0) sizes[dim] = k;
  push_contiguous(outs, self.dtype, sizes);
  push_contiguous(outs, DType::int64, sizes);
}

}  // namespace md
