// Shape rules of reductions and of ops along one dim.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tensor/ops/call_args.h"
#include "tensor/ops/shape_rules.h"
#include "tensor/shapes/shape_support.h"

namespace md {
namespace {

DimVec reduced_sizes(const DimVec& sizes, const std::vector<bool>& reduced, bool keepdim) {
  DimVec result;
  for (int i = 0; i < sizes.size(); ++i) {
    if (!reduced[static_cast<size_t>(i)]) {
      result.push_back(sizes[i]);
    } else if (keepdim) {
      result.push_back(1);
    }
  }
  return result;
}

bool keepdim_arg(const OpCall& call) {
  int index = call.row.schema.find("keepdim");
  return index >= 0 && bool_arg(call, index);
}

std::optional<DType> dtype_arg(const OpCall& call) {
  int index = call.row.schema.find("dtype");
  return index < 0 ? std::nullopt : optional_dtype_arg(call, index);
}

void reduce_to(const OpCall& call, DType dtype, std::vector<OutSpec>& outs) {
  const TensorSpec& self = tensor_arg(call, 0).spec();
  std::vector<bool> reduced = reduced_dims(call, call.args[1], self.rank());
  push_contiguous(outs, dtype, reduced_sizes(self.sizes, reduced, keepdim_arg(call)));
}

void require_floating(const OpCall& call, DType dtype) {
  if (is_inexact(dtype)) return;
  raise_op(ErrorKind::Runtime, call.row.name, "Input dtype must be a floating point dtype, but got ", row(dtype).name,
           "; shape ", str(tensor_arg(call, 0).spec().sizes.span()));
}

// No elements to choose from: an error, unless there are no results either.
void require_elements(const OpCall& call, const std::vector<bool>& reduced, bool whole, ErrorKind of_whole) {
  const TensorSpec& self = tensor_arg(call, 0).spec();
  if (whole) {
    if (!known_equal(self.numel(), 0)) return;
    raise_op(of_whole, call.row.name, "Expected reduction dim to be specified for input.numel() == 0; shape ",
             str(self.sizes.span()));
  }
  for (int i = 0; i < self.rank(); ++i) {
    if (reduced[static_cast<size_t>(i)] && known_equal(self.sizes[i], 0)) {
      raise_op(ErrorKind::Index, call.row.name, "Expected reduction dim ", i, " to have non-zero size; shape ",
               str(self.sizes.span()));
    }
  }
}

bool is_whole(const Arg& dims) {
  const DimVec* list = std::get_if<DimVec>(&dims);
  return is_none(dims) || (list != nullptr && list->empty());
}

}  // namespace

std::vector<bool> truth_reduced_dims(const OpCall& call) {
  int rank = tensor_arg(call, 0)->rank();
  const DimVec* list = std::get_if<DimVec>(&call.args[1]);
  if (list != nullptr && list->empty()) return std::vector<bool>(static_cast<size_t>(rank), false);
  return reduced_dims(call, call.args[1], rank);
}

// sum, prod: integers and bools are accumulated in int64.
void reduction_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  DType dtype = tensor_arg(call, 0)->dtype();
  reduce_to(call, dtype_arg(call).value_or(is_inexact(dtype) ? dtype : DType::int64), outs);
}

// mean, var, std.
void floating_reduction_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  DType dtype = dtype_arg(call).value_or(tensor_arg(call, 0)->dtype());
  require_floating(call, dtype);
  bool is_variance = call.row.schema.find("dtype") < 0;
  reduce_to(call, is_variance ? part_dtype(dtype) : dtype, outs);
}

// var and std of all elements.
void whole_deviation_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  DType dtype = tensor_arg(call, 0)->dtype();
  require_floating(call, dtype);
  push_contiguous(outs, part_dtype(dtype), {});
}

// The extremes and negative orders are undefined for no elements.
void norm_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  const TensorSpec& self = tensor_arg(call, 0).spec();
  DType dtype = dtype_arg(call).value_or(self.dtype);
  require_floating(call, self.dtype);
  require_floating(call, dtype);
  bool narrows = item_size(dtype) < item_size(self.dtype) || (item_size(dtype) == 2 && dtype != self.dtype);
  if (narrows) {
    raise_op(ErrorKind::Runtime, call.row.name, "the dtype of the input (", row(self.dtype).name,
             ") should be convertible without narrowing to the specified dtype (", row(dtype).name, ")");
  }
  std::vector<bool> reduced = reduced_dims(call, call.args[2], self.rank());
  if (is_nuclear_norm(call)) {
    if (std::count(reduced.begin(), reduced.end(), true) != 2) {
      raise_op(ErrorKind::Runtime, call.row.name, "The nuclear norm is of matrices: it takes two dims",
               operand_shapes(call));
    }
    return push_contiguous(outs, dtype, reduced_sizes(self.sizes, reduced, keepdim_arg(call)));
  }
  double order = norm_order(call);
  for (int i = 0; i < self.rank() && (order < 0 || std::isinf(order)); ++i) {
    if (!reduced[static_cast<size_t>(i)] || !known_equal(self.sizes[i], 0)) continue;
    raise_op(ErrorKind::Runtime, call.row.name, "cannot compute the ", Scalar(order).str(), " norm over dim ", i,
             " because it is empty and the operation has no identity; shape ", str(self.sizes.span()));
  }
  push_contiguous(outs, dtype, reduced_sizes(self.sizes, reduced, keepdim_arg(call)));
}

// amax, amin; max and min without a dim.
void extreme_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  const TensorSpec& self = tensor_arg(call, 0).spec();
  bool has_dims = call.args.size() > 1;
  Arg none;
  const Arg& dims = has_dims ? call.args[1] : none;
  std::vector<bool> reduced = reduced_dims(call, dims, self.rank());
  require_elements(call, reduced, is_whole(dims), ErrorKind::Runtime);
  push_contiguous(outs, self.dtype, reduced_sizes(self.sizes, reduced, has_dims && keepdim_arg(call)));
}

// max, min and the median along a dim: values and indices.
void extreme_dim_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  const TensorSpec& self = tensor_arg(call, 0).spec();
  std::vector<bool> reduced = reduced_dims(call, call.args[1], self.rank());
  require_elements(call, reduced, false, ErrorKind::Index);
  DimVec sizes = reduced_sizes(self.sizes, reduced, keepdim_arg(call));
  push_contiguous(outs, self.dtype, sizes);
  push_contiguous(outs, DType::int64, sizes);
}

// argmax, argmin.
void index_reduction_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  const TensorSpec& self = tensor_arg(call, 0).spec();
  if (self.dtype == DType::bool_) raise_op(ErrorKind::Runtime, call.row.name, "does not support bool input");
  std::vector<bool> reduced = reduced_dims(call, call.args[1], self.rank());
  require_elements(call, reduced, is_whole(call.args[1]), ErrorKind::Index);
  push_contiguous(outs, DType::int64, reduced_sizes(self.sizes, reduced, keepdim_arg(call)));
}

// any, all: bool, except that uint8 is kept.
void truth_reduction_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  const TensorSpec& self = tensor_arg(call, 0).spec();
  DType dtype = self.dtype == DType::uint8 ? DType::uint8 : DType::bool_;
  push_contiguous(outs, dtype, reduced_sizes(self.sizes, truth_reduced_dims(call), keepdim_arg(call)));
}

// prod: one dim or all.
void single_dim_reduction_shape(const OpCall& call, std::vector<OutSpec>& outs) { reduction_shape(call, outs); }

// cumsum, cumprod.
void cumulative_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  const TensorSpec& self = tensor_arg(call, 0).spec();
  wrap_dim(call, int_arg(call, 1), self.rank());
  push_contiguous(outs, dtype_arg(call).value_or(is_inexact(self.dtype) ? self.dtype : DType::int64), self.sizes);
}

// cummax, cummin: values and indices.
void cumulative_extreme_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  const TensorSpec& self = tensor_arg(call, 0).spec();
  wrap_dim(call, int_arg(call, 1), self.rank());
  push_contiguous(outs, self.dtype, self.sizes);
  push_contiguous(outs, DType::int64, self.sizes);
}

bool is_nuclear_norm(const OpCall& call) {
  const auto* name = std::get_if<std::string>(&call.args[1]);
  return name != nullptr && *name == "nuc";
}

double norm_order(const OpCall& call) {
  if (arg_is_none(call, 1)) return 2;
  const auto* name = std::get_if<std::string>(&call.args[1]);
  if (name == nullptr) return scalar_arg(call, 1).as_double();
  if (*name == "fro") return 2;
  raise_op(ErrorKind::Runtime, call.row.name, "Order ", *name, " not supported: p must be a number, 'fro' or 'nuc'");
}

void softmax_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  const TensorSpec& self = tensor_arg(call, 0).spec();
  wrap_dim(call, int_arg(call, 1), self.rank());
  DType dtype = dtype_arg(call).value_or(self.dtype);
  if (!is_floating(dtype)) {
    raise_op(ErrorKind::NotImplemented, call.row.name, "not implemented for '", row(dtype).name, "'");
  }
  push_contiguous(outs, dtype, self.sizes);
}

void layer_norm_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  const TensorSpec& self = tensor_arg(call, 0).spec();
  const DimVec& normalized = dims_arg(call, 1);
  int shift = self.rank() - normalized.size();
  bool fits = shift >= 0 && !normalized.empty();
  for (int i = 0; fits && i < normalized.size(); ++i) fits = known_equal(normalized[i], self.sizes[shift + i]);
  if (!fits) {
    raise_op(ErrorKind::Runtime, call.row.name, "Given normalized_shape=", str(normalized.span()),
             ", expected input with shape [*, ", str(normalized.span()), "], but got input of size ",
             str(self.sizes.span()));
  }
  // 16-bit floats are computed in float32, and their scale may be float32.
  DType wide = self.dtype == DType::float16 || self.dtype == DType::bfloat16 ? DType::float32 : self.dtype;
  for (int arg : {2, 3}) {
    if (arg_is_none(call, arg)) continue;
    const TensorSpec& affine = tensor_arg(call, arg).spec();
    bool equal = affine.rank() == normalized.size() && (affine.dtype == self.dtype || affine.dtype == wide);
    for (int i = 0; equal && i < affine.rank(); ++i) equal = known_equal(affine.sizes[i], normalized[i]);
    if (!equal) {
      raise_op(ErrorKind::Runtime, call.row.name, "Expected ", call.row.schema.params[static_cast<size_t>(arg)].name,
               " to be of same shape as normalized_shape and of dtype ", row(self.dtype).name, ", but got ",
               affine.str(), " and normalized_shape=", str(normalized.span()));
    }
  }
  if (!is_floating(self.dtype)) {
    raise_op(ErrorKind::NotImplemented, call.row.name, "not implemented for '", row(self.dtype).name, "'");
  }
  push_contiguous(outs, self.dtype, self.sizes);
}

}  // namespace md
