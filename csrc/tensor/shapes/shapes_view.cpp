// Shape rules of views: strides and offsets over the elements of argument 0.
#include <algorithm>

#include "tensor/fill.h"
#include "tensor/ops/call_args.h"
#include "tensor/ops/shape_rules.h"
#include "tensor/shapes/memory_format.h"
#include "tensor/shapes/shape_support.h"

namespace md {
namespace {

TensorSpec same_dtype(const TensorSpec& self) {
  TensorSpec spec;
  spec.dtype = self.dtype;
  return spec;
}

void push_view(std::vector<OutSpec>& outs, TensorSpec spec, Dim offset = 0) {
  outs.push_back({std::move(spec), offset});
}

void push_copy(std::vector<OutSpec>& outs, DType dtype, DimVec sizes) {
  outs.push_back({TensorSpec::contiguous(dtype, std::move(sizes)), 0, true});
}

void insert_dim(TensorSpec& spec, int at, Dim size, Dim stride) {
  spec.sizes.insert(at, size);
  spec.strides.insert(at, stride);
}

void erase_dim(TensorSpec& spec, int at) {
  spec.sizes.erase(at);
  spec.strides.erase(at);
}

// Each element as several, or several as one. The last dim is contiguous.
void change_width(const OpCall& call, TensorSpec& spec, int64_t from, int64_t to, std::string_view types) {
  auto require = [&](bool holds, std::string_view what, const std::string& found) {
    if (!holds)
      raise_op(ErrorKind::Runtime, call.row.name, what, " to view ", types, " (different element sizes)", found);
  };
  int last = spec.rank() - 1;
  require(last >= 0, "self.dim() cannot be 0", "");
  require(known_equal(spec.strides[last], 1), "self.stride(-1) must be 1",
          str_cat(", but got ", spec.strides[last].str()));
  auto widened = [&](Dim number, const std::string& name) {
    if (from > to) return number * Dim(from / to);
    require(known_equal(remainder(number, Dim(to / from)), 0), str_cat(name, " must be divisible by ", to / from),
            str_cat(", but got ", number.str()));
    return floor_divide(number, Dim(to / from));
  };
  spec.sizes[last] = widened(spec.sizes[last], "self.size(-1)");
  for (int i = 0; i < last; ++i) spec.strides[i] = widened(spec.strides[i], str_cat("self.stride(", i, ")"));
  const Tensor& tensor = tensor_arg(call, 0);
  if (tensor->kind() == TensorKind::Real) widened(tensor->offset(), "self.storage_offset()");
}

// The wanted sizes with -1 replaced.
DimVec infer_sizes(const OpCall& call, const DimVec& wanted) {
  Dim numel = self_spec(call).numel();
  auto invalid = [&] {
    raise_op(ErrorKind::Runtime, call.row.name, "shape '", list_str(wanted.span()), "' is invalid for input of size ",
             numel.str(), " (shape ", str(self_spec(call).sizes.span()), ")");
  };
  DimVec sizes = wanted;
  int inferred = -1;
  Dim known = 1;
  for (int i = 0; i < sizes.size(); ++i) {
    if (same(sizes[i], Dim(-1))) {
      if (inferred >= 0)
        raise_op(ErrorKind::Runtime, call.row.name, "only one dimension can be inferred; shape '",
                 list_str(wanted.span()), "'");
      inferred = i;
    } else {
      if (!sizes[i].is_symbolic() && sizes[i].value() < 0) {
        raise_op(ErrorKind::Runtime, call.row.name, "invalid shape dimension ", sizes[i].str(), " in '",
                 list_str(wanted.span()), "'");
      }
      known = known * sizes[i];
    }
  }
  if (inferred >= 0) {
    if (known_equal(known, 0)) {
      if (!known_equal(numel, 0)) invalid();
      raise_op(ErrorKind::Runtime, call.row.name, "cannot reshape tensor of 0 elements into shape ",
               list_str(wanted.span()), " because the unspecified dimension size -1 can be any value and is ambiguous");
    }
    sizes[inferred] = floor_divide(numel, known);
    known = known * sizes[inferred];
  }
  if (!known_equal(known, numel)) invalid();
  return sizes;
}

void reshape_to(const OpCall& call, DimVec sizes, std::vector<OutSpec>& outs) {
  TensorSpec spec = same_dtype(self_spec(call));
  if (!view_strides(self_spec(call), sizes, spec.strides)) return push_copy(outs, spec.dtype, std::move(sizes));
  spec.sizes = std::move(sizes);
  push_view(outs, std::move(spec));
}

void swap_dims(TensorSpec& spec, int a, int b) {
  std::swap(spec.sizes[a], spec.sizes[b]);
  std::swap(spec.strides[a], spec.strides[b]);
}

// One part of a split.
void push_part(const TensorSpec& self, int dim, Dim start, Dim length, std::vector<OutSpec>& outs) {
  TensorSpec spec = self;
  spec.sizes[dim] = length;
  push_view(outs, std::move(spec), start * self.strides[dim]);
}

void require_rank(const OpCall& call) {
  if (self_spec(call).rank() == 0) {
    raise_op(ErrorKind::Runtime, call.row.name, "expects at least a 1-dimensional tensor, but got shape ()");
  }
}

void split_by(const OpCall& call, int dim, int64_t length, std::vector<OutSpec>& outs) {
  const TensorSpec& self = self_spec(call);
  // The number of results is fixed by the size at capture.
  int64_t extent = self.sizes[dim].value();
  if (extent == 0) return push_part(self, dim, 0, 0, outs);
  for (int64_t start = 0; start < extent; start += length) {
    push_part(self, dim, start, std::min(length, extent - start), outs);
  }
}

}  // namespace

// alias, detach, positive.
void alias_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  TensorSpec spec = self_spec(call);
  spec.requires_grad = false;
  push_view(outs, std::move(spec));
}

void positive_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  if (self_spec(call).dtype == DType::bool_) {
    raise_op(ErrorKind::Runtime, call.row.name, "The `+` operator, on a bool tensor is not supported");
  }
  alias_shape(call, outs);
}

void view_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  TensorSpec spec = same_dtype(self_spec(call));
  spec.sizes = infer_sizes(call, dims_arg(call, 1));
  if (!view_strides(self_spec(call), spec.sizes, spec.strides)) {
    raise_op(ErrorKind::Runtime, call.row.name, "view size ", str(spec.sizes.span()),
             " is not compatible with input tensor's size ", str(self_spec(call).sizes.span()), " and stride ",
             str(self_spec(call).strides.span()),
             " (at least one dimension spans across two contiguous subspaces). Use .reshape(...) instead.");
  }
  push_view(outs, std::move(spec));
}

void view_dtype_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  TensorSpec spec = self_spec(call);
  DType dtype = arg_as<DType>(call, 1);
  if (dtype == DType::bool_ && spec.dtype != dtype)
    raise_op(ErrorKind::NotImplemented, call.row.name, "bytes as bools, of which all but 0 and 1 are undefined");
  int64_t from = static_cast<int64_t>(item_size(spec.dtype)), to = static_cast<int64_t>(item_size(dtype));
  std::string types = str_cat(row(spec.dtype).name, " as ", row(dtype).name);
  spec.dtype = dtype;
  spec.requires_grad = false;
  if (from != to) change_width(call, spec, from, to, types);
  push_view(outs, std::move(spec));
}

void reshape_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  reshape_to(call, infer_sizes(call, dims_arg(call, 1)), outs);
}

// reshape into new memory.
void reshape_copy_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  outs.push_back({TensorSpec::contiguous(self_spec(call).dtype, infer_sizes(call, dims_arg(call, 1))), 0});
}

void flatten_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  const TensorSpec& self = self_spec(call);
  int start = wrap_dim(call, int_arg(call, 1), self.rank());
  int end = wrap_dim(call, int_arg(call, 2), self.rank());
  if (start > end)
    raise_op(ErrorKind::Runtime, call.row.name, "start_dim cannot come after end_dim", operand_shapes(call));
  DimVec sizes = self.sizes;
  if (sizes.empty()) sizes.push_back(1);
  Dim merged = product(sizes.span().subspan(static_cast<size_t>(start), static_cast<size_t>(end - start + 1)));
  for (int i = start; i < end; ++i) sizes.erase(start);
  sizes[start] = merged;
  reshape_to(call, std::move(sizes), outs);
}

void permute_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  const TensorSpec& self = self_spec(call);
  const DimVec& order = dims_arg(call, 1);
  if (order.size() != self.rank()) {
    raise_op(ErrorKind::Runtime, call.row.name,
             "number of dimensions in the tensor input does not match the length of the ",
             "desired ordering of dimensions i.e. input.dim() = ", self.rank(),
             " is not equal to len(dims) = ", order.size(), operand_shapes(call));
  }
  TensorSpec spec = same_dtype(self);
  std::vector<bool> seen(static_cast<size_t>(self.rank()), false);
  for (Dim dim : order) {
    int index = wrap_dim(call, dim.value(), self.rank());
    if (seen[static_cast<size_t>(index)]) {
      raise_op(ErrorKind::Runtime, call.row.name, "duplicate dims are not allowed: ", str(order.span()));
    }
    seen[static_cast<size_t>(index)] = true;
    spec.sizes.push_back(self.sizes[index]);
    spec.strides.push_back(self.strides[index]);
  }
  push_view(outs, std::move(spec));
}

void transpose_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  TensorSpec spec = self_spec(call);
  spec.requires_grad = false;
  int a = wrap_dim(call, int_arg(call, 1), spec.rank());
  int b = wrap_dim(call, int_arg(call, 2), spec.rank());
  if (spec.rank() > 0) swap_dims(spec, a, b);
  push_view(outs, std::move(spec));
}

// With the last two dims swapped, if there are two.
static void push_swapped(const OpCall& call, std::vector<OutSpec>& outs, bool takes_rank, const char* words) {
  TensorSpec spec = self_spec(call);
  spec.requires_grad = false;
  if (!takes_rank) raise_op(ErrorKind::Runtime, call.row.name, words, ", but self has shape ", str(spec.sizes.span()));
  if (spec.rank() >= 2) swap_dims(spec, spec.rank() - 2, spec.rank() - 1);
  push_view(outs, std::move(spec));
}

void t_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  push_swapped(call, outs, self_spec(call).rank() <= 2, "expects a tensor with <= 2 dimensions");
}

void adjoint_matrix_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  int rank = self_spec(call).rank();
  push_swapped(call, outs, rank == 0 || rank == 2, "is only supported on matrices (2-D tensors)");
}

void transposed_matrices_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  push_swapped(call, outs, self_spec(call).rank() >= 2, "expects a tensor with >= 2 dimensions");
}

void squeeze_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  const TensorSpec& self = self_spec(call);
  const DimVec* dims = std::get_if<DimVec>(&call.args[1]);
  // An empty tuple squeezes nothing.
  std::vector<bool> chosen(static_cast<size_t>(self.rank()), false);
  if (dims == nullptr || !dims->empty()) chosen = reduced_dims(call, call.args[1], self.rank());
  TensorSpec spec = same_dtype(self);
  for (int i = 0; i < self.rank(); ++i) {
    if (chosen[static_cast<size_t>(i)] && known_equal(self.sizes[i], 1)) continue;
    spec.sizes.push_back(self.sizes[i]);
    spec.strides.push_back(self.strides[i]);
  }
  push_view(outs, std::move(spec));
}

void unsqueeze_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  TensorSpec spec = self_spec(call);
  spec.requires_grad = false;
  int at = wrap_dim(call, int_arg(call, 1), spec.rank() + 1);
  Dim stride = at < spec.rank() ? spec.sizes[at] * spec.strides[at] : Dim(1);
  insert_dim(spec, at, 1, stride);
  push_view(outs, std::move(spec));
}

void expand_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  const TensorSpec& self = self_spec(call);
  const DimVec& wanted = dims_arg(call, 1);
  int shift = wanted.size() - self.rank();
  if (shift < 0) {
    raise_op(ErrorKind::Runtime, call.row.name, "the number of sizes provided (", wanted.size(),
             ") must be greater or equal to the number of dimensions in the tensor (", self.rank(), "); shape ",
             str(self.sizes.span()), ", size ", str(wanted.span()));
  }
  TensorSpec spec = same_dtype(self);
  for (int i = 0; i < wanted.size(); ++i) {
    bool keeps = same(wanted[i], Dim(-1));
    if (i < shift) {
      if (keeps || (!wanted[i].is_symbolic() && wanted[i].value() < 0)) {
        raise_op(ErrorKind::Runtime, call.row.name, "The expanded size of the tensor (", wanted[i].str(),
                 ") isn't allowed in a leading, non-existing dimension ", i);
      }
      insert_dim(spec, i, wanted[i], 0);
      continue;
    }
    Dim size = self.sizes[i - shift];
    Dim stride = self.strides[i - shift];
    if (keeps || known_equal_if_hinted(size, wanted[i])) {
      insert_dim(spec, i, size, stride);
    } else if (known_equal(size, 1) && (wanted[i].is_symbolic() || wanted[i].value() >= 0)) {
      // A dim of size one expanded to one keeps its stride.
      bool stays = !same(stride, Dim(0)) && known_equal(wanted[i], 1);
      insert_dim(spec, i, wanted[i], stays ? stride : Dim(0));
    } else {
      raise_op(ErrorKind::Runtime, call.row.name, "The expanded size of the tensor (", wanted[i].str(),
               ") must match the existing size (", size.str(), ") at non-singleton dimension ", i,
               ".  Target sizes: ", str(wanted.span()), ".  Tensor sizes: ", str(self.sizes.span()));
    }
  }
  // A new dim of size one steps over the dims behind it, as unsqueeze's does. No guard is worth the stride of one that
  // varies and happens to be one.
  for (int i = self.rank() == 0 ? -1 : shift - 1; i >= 0; --i)
    if (same(wanted[i], Dim(1))) spec.strides[i] = spec.sizes[i + 1] * spec.strides[i + 1];
  push_view(outs, std::move(spec));
}

// For real tensors only: accessing elements outside of its own depends on the storage.
void as_strided_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  const Tensor& self = tensor_arg(call, 0);
  TensorSpec spec = same_dtype(self.spec());
  spec.sizes = dims_arg(call, 1);
  spec.strides = dims_arg(call, 2);
  if (spec.sizes.size() != spec.strides.size()) {
    raise_op(ErrorKind::Runtime, call.row.name,
             "mismatch in length of strides and shape: ", list_str(spec.sizes.span()), " and ",
             list_str(spec.strides.span()));
  }
  int64_t own = self->kind() == TensorKind::Real ? self->offset() : 0;
  int64_t offset = optional_int_arg(call, 3).value_or(own);
  if (offset < 0) {
    raise_op(ErrorKind::Runtime, call.row.name, "Tensor: invalid storage offset ", offset);
  }
  Dim last = 0;
  bool is_empty = false;
  for (int i = 0; i < spec.rank(); ++i) {
    if (spec.sizes[i].value() < 0) {
      raise_op(ErrorKind::Runtime, call.row.name,
               "Storage size calculation overflowed with sizes=", list_str(spec.sizes.span()),
               " and strides=", list_str(spec.strides.span()));
    }
    if (spec.strides[i].value() < 0) {
      raise_op(ErrorKind::Runtime, call.row.name,
               "Negative strides are not supported at the moment, got strides: ", list_str(spec.strides.span()));
    }
    is_empty = is_empty || spec.sizes[i].value() == 0;
    if (!is_empty) last = last + (spec.sizes[i] - 1) * spec.strides[i];
  }
  Dim needed = is_empty ? Dim(0) : (last + Dim(offset) + 1) * Dim(static_cast<int64_t>(item_size(spec.dtype)));
  int64_t there = self->kind() == TensorKind::Real ? static_cast<int64_t>(self->storage()->nbytes()) : INT64_MAX;
  if (needed.value() > there) {
    raise_op(ErrorKind::Runtime, call.row.name, "setStorage: sizes ", list_str(spec.sizes.span()), ", strides ",
             list_str(spec.strides.span()), ", storage offset ", offset, ", and itemsize ", item_size(spec.dtype),
             " requiring a storage size of ", needed.str(), " are out of bounds for storage of size ", there,
             operand_shapes(call));
  }
  push_view(outs, std::move(spec), offset - own);
}

void window_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  TensorSpec spec = same_dtype(self_spec(call));
  spec.sizes = dims_arg(call, 1);
  spec.strides = dims_arg(call, 2);
  if (spec.sizes.size() != spec.strides.size())
    raise_op(ErrorKind::Runtime, call.row.name, "sizes ", list_str(spec.sizes.span()), " and strides ",
             list_str(spec.strides.span()));
  push_view(outs, std::move(spec), dim_arg(call, 3));
}

void select_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  TensorSpec spec = self_spec(call);
  spec.requires_grad = false;
  if (spec.rank() == 0) raise_op(ErrorKind::Index, call.row.name, "cannot be applied to a 0-dim tensor.");
  int dim = wrap_dim(call, int_arg(call, 1), spec.rank());
  Dim index = dim_arg(call, 2);
  Dim extent = spec.sizes[dim];
  Dim position = known_less(index, 0) ? extent + index : index;
  if (known_less(position, 0) || !known_less(position, extent)) {
    raise_op(ErrorKind::Index, call.row.name, "index ", index.str(), " is out of bounds for dimension ", dim,
             " with size ", extent.str(), "; shape ", str(spec.sizes.span()));
  }
  Dim offset = position * spec.strides[dim];
  erase_dim(spec, dim);
  push_view(outs, std::move(spec), offset);
}

void narrow_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  const TensorSpec& self = self_spec(call);
  if (self.rank() == 0) {
    raise_op(ErrorKind::Runtime, call.row.name, "cannot be applied to a 0-dim tensor", operand_shapes(call));
  }
  int dim = wrap_dim(call, int_arg(call, 1), self.rank());
  Dim start = dim_arg(call, 2);
  Dim length = dim_arg(call, 3);
  if (known_less(length, 0)) raise_op(ErrorKind::Runtime, call.row.name, "length must be non-negative.");
  Dim extent = self.sizes[dim];
  Dim begin = known_less(start, 0) ? extent + start : start;
  if (known_less(begin, 0) || known_less(extent, begin)) {
    raise_op(ErrorKind::Index, call.row.name, "start out of range (expected to be in range of [-", extent.str(), ", ",
             extent.str(), "], but got ", start.str(), ")");
  }
  if (known_less(extent - begin, length)) {
    raise_op(ErrorKind::Runtime, call.row.name, "start (", begin.str(), ") + length (", length.str(),
             ") exceeds dimension size (", extent.str(), ")", operand_shapes(call));
  }
  push_part(self, dim, begin, length, outs);
}

// The start is read from a tensor.
void narrow_tensor_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  static const OpRow* const narrow = find_op("narrow");
  const Tensor& start = tensor_arg(call, 2);
  if (start->rank() != 0 || is_floating(start->dtype()) || start->dtype() == DType::bool_)
    raise_op(ErrorKind::Runtime, call.row.name, "start must be an 0-dim integral Tensor", operand_shapes(call));
  if (start->kind() != TensorKind::Real) raise_op(ErrorKind::Runtime, call.row.name, "start has no value here");
  Arg args[] = {call.args[0], call.args[1], load_scalar(start->dtype(), start->data()), call.args[3]};
  narrow_shape({*narrow, args}, outs);
}

void slice_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  TensorSpec spec = self_spec(call);
  spec.requires_grad = false;
  if (spec.rank() == 0) raise_op(ErrorKind::Runtime, call.row.name, "cannot be applied to a 0-dim tensor.");
  int dim = wrap_dim(call, int_arg(call, 1), spec.rank());
  int64_t step = int_arg(call, 4);
  if (step == 0) raise_op(ErrorKind::Runtime, call.row.name, "step must not be zero");
  auto [begin, length] = slice_range(spec.sizes[dim], optional_dim_arg(call, 2), optional_dim_arg(call, 3), step);
  Dim offset = begin * spec.strides[dim];
  spec.sizes[dim] = length;
  // As in NumPy: none is negative for the sake of nothing. Of one element the step does not matter, which may be too
  // large for a stride.
  bool has_stride = !length.is_symbolic() && !spec.strides[dim].is_symbolic();
  int64_t stride = 0;
  bool is_idle = has_stride && length.value() < 2 && __builtin_mul_overflow(spec.strides[dim].value(), step, &stride);
  if (!is_idle && (step > 0 || !same(length, Dim(0)))) spec.strides[dim] = spec.strides[dim] * Dim(step);
  push_view(outs, std::move(spec), offset);
}

void split_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  require_rank(call);
  const TensorSpec& self = self_spec(call);
  int dim = wrap_dim(call, int_arg(call, 2), self.rank());
  int64_t length = int_arg(call, 1);
  if (length < 0)
    raise_op(ErrorKind::Runtime, call.row.name, "expects split_size be non-negative, but got split_size=", length);
  if (length == 0 && !known_equal(self.sizes[dim], 0)) {
    raise_op(ErrorKind::Runtime, call.row.name,
             "split_size can only be 0 if dimension size is 0, but got dimension size of ", self.sizes[dim].str());
  }
  split_by(call, dim, length, outs);
}

void split_sizes_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  require_rank(call);
  const TensorSpec& self = self_spec(call);
  const DimVec& lengths = dims_arg(call, 1);
  int dim = wrap_dim(call, int_arg(call, 2), self.rank());
  Dim start = 0;
  for (Dim length : lengths) {
    if (known_less(length, 0)) {
      raise_op(ErrorKind::Runtime, call.row.name, "expects split_sizes have only non-negative entries, but got ",
               list_str(lengths.span()));
    }
    push_part(self, dim, start, length, outs);
    start = start + length;
  }
  if (!known_equal(start, self.sizes[dim])) {
    raise_op(ErrorKind::Runtime, call.row.name, "expects split_sizes to sum exactly to ", self.sizes[dim].str(),
             " (input tensor's size at dimension ", dim, "), but got split_sizes=", list_str(lengths.span()),
             operand_shapes(call));
  }
}

void chunk_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  require_rank(call);
  int64_t chunks = int_arg(call, 1);
  if (chunks <= 0) raise_op(ErrorKind::Runtime, call.row.name, "expects `chunks` to be greater than 0, got: ", chunks);
  const TensorSpec& self = self_spec(call);
  int dim = wrap_dim(call, int_arg(call, 2), self.rank());
  int64_t extent = self.sizes[dim].value();
  if (extent == 0) {
    for (int64_t i = 0; i < chunks; ++i) push_part(self, dim, 0, 0, outs);
    return;
  }
  split_by(call, dim, extent / chunks + (extent % chunks != 0), outs);
}

void unbind_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  const TensorSpec& self = self_spec(call);
  int dim = wrap_dim(call, int_arg(call, 1), self.rank());
  if (self.rank() == 0)
    raise_op(ErrorKind::Index, call.row.name, "Dimension specified as ", dim, " but tensor has no dimensions");
  int64_t extent = self.sizes[dim].value();
  for (int64_t i = 0; i < extent; ++i) {
    TensorSpec spec = self;
    spec.requires_grad = false;
    erase_dim(spec, dim);
    push_view(outs, std::move(spec), self.strides[dim] * Dim(i));
  }
}

void contiguous_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  const TensorSpec& self = self_spec(call);
  const MemoryFormatRow* format = memory_format_arg(call);
  if (lies_in_format(self, format->name)) return push_view(outs, self);
  if (format->name == "preserve_format") {
    raise_op(ErrorKind::Runtime, call.row.name, "preserve memory format is unsupported by the contiguous operator");
  }
  TensorSpec copy = same_dtype(self);
  copy.sizes = self.sizes;
  copy.strides = strides_in_format(call, self.sizes, {});
  outs.push_back({std::move(copy), 0, true});
}

void clone_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  const Tensor& self = tensor_arg(call, 0);
  TensorSpec spec = same_dtype(self.spec());
  spec.sizes = self.spec().sizes;
  spec.strides = strides_in_format(call, spec.sizes, preserved_strides(self));
  outs.push_back({std::move(spec), 0});
}

void cast_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  clone_shape(call, outs);
  outs.back().spec.dtype = arg_as<DType>(call, 1);
}

void to_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  const TensorSpec& self = self_spec(call);
  DType dtype = optional_dtype_arg(call, 1).value_or(self.dtype);
  if (dtype == self.dtype && !bool_arg(call, 2)) return push_view(outs, self);
  clone_shape(call, outs);
  outs.back().spec.dtype = dtype;
  outs.back().copies = true;
}

}  // namespace md
