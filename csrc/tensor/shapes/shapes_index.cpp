// Shape rules of gathers and scatters by index tensors, and of whole overwrites.
#include <algorithm>

#include "tensor/ops/call_args.h"
#include "tensor/ops/kernels.h"
#include "tensor/ops/shape_rules.h"
#include "tensor/shapes/index_layout.h"
#include "tensor/shapes/memory_format.h"
#include "tensor/shapes/shape_support.h"
#include "tensor/simd/copy.h"

namespace md {
namespace {

bool steps_back(const TensorSpec& spec) {
  return std::ranges::any_of(spec.strides, [](Dim stride) { return known_less(stride, 0); });
}

// Strides that preserve the order of the dims, and their directions if there are no gaps.
DimVec written_strides(const Tensor* self) {
  const TensorSpec& spec = self->spec();
  DimVec strides = pointwise_strides(spec.sizes, {&self, 1});
  if (!steps_back(spec)) return strides;
  TensorSpec forward = spec;
  for (Dim& stride : forward.strides) stride = magnitude(stride);
  return lies_as(forward, strides) ? spec.strides : strides;
}

// The result of a write: argument 0 with new strides.
void push_written(const OpCall& call, std::vector<OutSpec>& outs) {
  const Tensor* self = &tensor_arg(call, 0);
  OutSpec out;
  out.spec.dtype = (*self)->dtype();
  out.spec.sizes = self->spec().sizes;
  out.spec.strides = written_strides(self);
  outs.push_back(std::move(out));
}

void check_broadcasts_to(const OpCall& call, const TensorSpec& value, const DimVec& sizes, const char* what) {
  bool fits = value.rank() <= sizes.size();
  for (int i = 0; fits && i < value.rank(); ++i) {
    const Dim& target = sizes[sizes.size() - value.rank() + i];
    fits = expands_to(value.sizes[i], target);
  }
  if (!fits) {
    raise_op(ErrorKind::Runtime, call.row.name, "shape mismatch: ", what, " of shape ", list_str(value.sizes.span()),
             " cannot be broadcast to ", list_str(sizes.span()));
  }
}

// For copy_: torch names the dim that does not expand.
void check_expands(const OpCall& call, const TensorSpec& value, const DimVec& sizes) {
  int shift = sizes.size() - value.rank();
  if (shift < 0) {
    raise_op(ErrorKind::Runtime, call.row.name, "The number of sizes provided (", sizes.size(),
             ") must be greater or equal to the number of dimensions in the tensor (", value.rank(),
             "). Target sizes: ", list_str(sizes.span()), ". Tensor sizes: ", list_str(value.sizes.span()));
  }
  for (int i = value.rank() - 1; i >= 0; --i) {
    if (expands_to(value.sizes[i], sizes[shift + i])) continue;
    raise_op(ErrorKind::Runtime, call.row.name, "The expanded size of the tensor (", sizes[shift + i].str(),
             ") must match the existing size (", value.sizes[i].str(), ") at non-singleton dimension ", shift + i,
             ".  Target sizes: ", list_str(sizes.span()), ".  Tensor sizes: ", list_str(value.sizes.span()));
  }
}

void check_along_dim(const OpCall& call, const TensorSpec& index) {
  check_index_dtype(call, index);
  if (index.rank() > 1) {
    raise_op(ErrorKind::Index, call.row.name, "Index is supposed to be a vector, but its shape is ",
             str(index.sizes.span()));
  }
}

DimVec broadcast_indices(const OpCall& call, const std::vector<Tensor>& indices) {
  DimVec sizes;
  bool fits = true;
  for (const Tensor& index : indices) {
    const DimVec& own = index.spec().sizes;
    while (sizes.size() < own.size()) sizes.insert(0, 1);
    for (int i = 0; i < own.size(); ++i) {
      Dim& into = sizes[sizes.size() - own.size() + i];
      if (same(own[i], Dim(1)) || known_equal_if_hinted(into, own[i])) continue;
      if (!same(into, Dim(1)) && known_equal(own[i], 1)) continue;
      fits = fits && known_equal(into, 1);
      into = own[i];
    }
  }
  if (fits) return sizes;
  std::string shapes;
  for (const Tensor& index : indices) shapes += (shapes.empty() ? "" : ", ") + list_str(index.spec().sizes.span());
  raise_op(ErrorKind::Index, call.row.name,
           "shape mismatch: indexing tensors could not be broadcast together with shapes ", shapes);
}

}  // namespace

void check_index_dtype(const OpCall& call, const TensorSpec& index) {
  if (index.dtype == DType::int64 || index.dtype == DType::int32) return;
  raise_op(ErrorKind::Runtime, call.row.name, "Expected dtype int32/int64 for index, but got ", row(index.dtype).name);
}

IndexLayout index_layout(const OpCall& call) {
  const TensorSpec& self = self_spec(call);
  const std::vector<Tensor>& indices = tensors_arg(call, 1);
  const DimVec& dims = dims_arg(call, 2);
  IndexLayout layout;
  MD_ASSERT(!indices.empty() && dims.size() == static_cast<int>(indices.size()), "[", call.row.name, "] dims");
  for (const Tensor& index : indices) {
    if (index->dtype() != DType::int64) {
      raise_op(ErrorKind::Index, call.row.name, "tensors used as indices must be long, int, byte or bool tensors");
    }
  }
  for (Dim dim : dims) {
    int at = static_cast<int>(dim.value());
    MD_ASSERT(at >= 0 && at < self.rank() && (layout.dims.empty() || layout.dims.back() < at), "[", call.row.name,
              "] dims");
    layout.dims.push_back(at);
  }
  layout.broadcast = broadcast_indices(call, indices);
  bool adjacent = layout.dims.back() - layout.dims.front() + 1 == static_cast<int>(layout.dims.size());
  layout.broadcast_at = adjacent ? layout.dims.front() : 0;
  auto is_indexed = [&](int dim) { return std::binary_search(layout.dims.begin(), layout.dims.end(), dim); };
  for (int i = 0; i < layout.broadcast_at; ++i) layout.sizes.push_back(self.sizes[i]);
  for (Dim size : layout.broadcast) layout.sizes.push_back(size);
  for (int i = layout.broadcast_at; i < self.rank(); ++i) {
    if (!is_indexed(i)) layout.sizes.push_back(self.sizes[i]);
  }
  return layout;
}

void same_shape(const OpCall& call, std::vector<OutSpec>& outs) { push_written(call, outs); }

void copy_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  if (arg_is<Tensor>(call, 1)) check_expands(call, tensor_arg(call, 1).spec(), self_spec(call).sizes);
  push_written(call, outs);
}

void fill_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  if (arg_is<Tensor>(call, 1) && tensor_arg(call, 1)->rank() != 0) {
    raise_op(ErrorKind::Runtime, call.row.name, "only supports 0-dimension value tensor but got tensor with ",
             tensor_arg(call, 1)->rank(), " dimensions.");
  }
  push_written(call, outs);
}

void index_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  IndexLayout layout = index_layout(call);
  outs.push_back({TensorSpec::contiguous(self_spec(call).dtype, std::move(layout.sizes)), 0});
}

void index_put_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  IndexLayout layout = index_layout(call);
  if (arg_is<Tensor>(call, 3)) {
    const TensorSpec& values = tensor_arg(call, 3).spec();
    if (values.dtype != self_spec(call).dtype) {
      raise_op(ErrorKind::Runtime, call.row.name, "Index put requires the source and destination dtypes match, got ",
               row(self_spec(call).dtype).name, " for the destination and ", row(values.dtype).name,
               " for the source.");
    }
    check_broadcasts_to(call, values, layout.sizes, "value tensor");
  }
  push_written(call, outs);
}

// The view has the strides and offset of self, which the result keeps.
void scatter_view_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  const TensorSpec& src = tensor_arg(call, 1).spec();
  const DimVec& window = dims_arg(call, 2);
  bool fits = src.dtype == self_spec(call).dtype && src.rank() == window.size();
  for (int i = 0; fits && i < window.size(); ++i) fits = known_equal(src.sizes[i], window[i]);
  if (!fits) {
    raise_op(ErrorKind::Runtime, call.row.name, "src is ", src.str(), ", the view has ",
             list_str(dims_arg(call, 2).span()), " of ", row(self_spec(call).dtype).name);
  }
  push_written(call, outs);
}

void index_fill_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  wrap_dim(call, int_arg(call, 1), self_spec(call).rank());
  const TensorSpec& index = tensor_arg(call, 2).spec();
  // The error classes are torch's, which differ from those of index_copy.
  if (index.dtype != DType::int64 && index.dtype != DType::int32) {
    raise_op(ErrorKind::Index, call.row.name, "Expected dtype int64 for index, but got ", row(index.dtype).name);
  }
  if (index.rank() > 1) {
    raise_op(ErrorKind::Runtime, call.row.name, "Index has to be a vector or a number", operand_shapes(call));
  }
  if (arg_is<Tensor>(call, 3) && tensor_arg(call, 3)->rank() != 0) {
    raise_op(ErrorKind::Runtime, call.row.name, "only supports a 0-dimensional value tensor, but got tensor with ",
             tensor_arg(call, 3)->rank(), " dimension(s)", operand_shapes(call));
  }
  push_written(call, outs);
}

namespace {

// Shared by index_copy and index_add. Their error classes are torch's, and differ.
struct Along {
  const TensorSpec& self;
  const TensorSpec& source;
  int dim;
  Dim count;    // of indices
  bool counts;  // source has as many positions along dim, one if it is 0-d
};
Along along_of(const OpCall& call) {
  const TensorSpec& self = self_spec(call);
  const TensorSpec& index = tensor_arg(call, 2).spec();
  const TensorSpec& source = tensor_arg(call, 3).spec();
  int dim = wrap_dim(call, int_arg(call, 1), self.rank());
  check_along_dim(call, index);
  if (source.dtype != self.dtype) {
    raise_op(ErrorKind::Runtime, call.row.name, "self and source expected to have the same dtype, but got (self) ",
             row(self.dtype).name, " and (source) ", row(source.dtype).name);
  }
  bool has_dim = source.rank() == 0 ? dim == 0 : dim < source.rank();
  bool counts = has_dim && known_equal(source.rank() == 0 ? Dim(1) : source.sizes[dim], index.numel());
  return {self, source, dim, index.numel(), counts};
}

// Whether source has self's sizes except along dim.
bool slices_fit(const Along& along) {
  const DimVec &self = along.self.sizes, &source = along.source.sizes;
  if (std::max(self.size(), 1) != std::max(source.size(), 1)) return false;
  for (int i = 0; i < std::min(self.size(), source.size()); ++i)
    if (i != along.dim && !known_equal(source[i], self[i])) return false;
  return true;
}

[[noreturn]] void raise_unfit(const OpCall& call, const Along& along, ErrorKind kind) {
  raise_op(kind, call.row.name, "source of shape ", str(along.source.sizes.span()), " does not fit self of shape ",
           str(along.self.sizes.span()), " with ", along.count.str(), " indices along dimension ", along.dim);
}

}  // namespace

// One of self and source may be 0-d if the other is 1-d.
void index_copy_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  Along along = along_of(call);
  int self_rank = along.self.rank(), source_rank = along.source.rank();
  bool of_ranks = source_rank == 0 ? !known_equal(along.count, 1) : self_rank != 0 && self_rank != source_rank;
  if (of_ranks) raise_unfit(call, along, ErrorKind::Index);
  if (!slices_fit(along)) raise_unfit(call, along, ErrorKind::Runtime);
  if (!along.counts) raise_unfit(call, along, ErrorKind::Index);
  push_written(call, outs);
}

void index_add_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  Along along = along_of(call);
  bool fits = along.counts && along.self.rank() == along.source.rank() && slices_fit(along);
  bool of_count = along.source.rank() == 0 && along.dim == 0 && !along.counts;
  if (!fits) raise_unfit(call, along, of_count ? ErrorKind::Index : ErrorKind::Runtime);
  push_written(call, outs);
}

// scatter, scatter_add.
void scatter_reduce_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  const std::string& reduce = arg_as<std::string>(call, 4);
  if (reduce != "add" && reduce != "multiply")
    raise_op(ErrorKind::Runtime, call.row.name, "reduce argument must be either add or multiply.");
  const TensorSpec& index = tensor_arg(call, 2).spec();
  const TensorSpec* src = arg_is<Tensor>(call, 3) ? &tensor_arg(call, 3).spec() : nullptr;
  bool lacks_dims =
      src != nullptr && src->rank() > 0 && src->rank() < index.rank() && index.rank() <= self_spec(call).rank();
  if (lacks_dims && !known_equal(src->numel(), 0) && !known_equal(index.numel(), 0))
    raise_op(ErrorKind::Index, call.row.name, "Dimension out of range: src has fewer dims than index",
             operand_shapes(call));
  scatter_shape(call, outs);
}

void scatter_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  const TensorSpec& self = self_spec(call);
  const TensorSpec& index = tensor_arg(call, 2).spec();
  int dim = wrap_dim(call, int_arg(call, 1), self.rank());
  check_index_dtype(call, index);
  const TensorSpec* src = arg_is<Tensor>(call, 3) ? &tensor_arg(call, 3).spec() : nullptr;
  if (src != nullptr && src->dtype != self.dtype) {
    raise_op(ErrorKind::Runtime, call.row.name, "Expected self.dtype to be equal to src.dtype, but got ",
             row(self.dtype).name, " and ", row(src->dtype).name);
  }
  bool is_empty = known_equal(index.numel(), 0);
  bool fits = is_empty || std::max(index.rank(), 1) == std::max(self.rank(), 1);
  for (int i = 0; fits && !is_empty && i < std::min(index.rank(), self.rank()); ++i) {
    fits = i == dim || !known_less(self.sizes[i], index.sizes[i]);
  }
  if (src != nullptr && !is_empty) {
    fits = fits && std::max(src->rank(), 1) == std::max(index.rank(), 1);
    for (int i = 0; fits && i < std::min(index.rank(), src->rank()); ++i) {
      fits = !known_less(src->sizes[i], index.sizes[i]);
    }
  }
  if (!fits) {
    raise_op(ErrorKind::Runtime, call.row.name, "Expected index ", str(index.sizes.span()),
             " to be no larger than self ", str(self.sizes.span()), " apart from dimension ", dim,
             src == nullptr ? std::string() : str_cat(" and to be no larger than src ", str(src->sizes.span())));
  }
  push_written(call, outs);
}

int64_t count_true(const Tensor& tensor) {
  Tensor flags = as_contiguous(tensor, DType::bool_);
  return std::count(flags.data<bool>(), flags.data<bool>() + flags->numel(), true);
}

namespace {

// The sizes that self and mask have together.
DimVec masked_sizes(const OpCall& call) {
  const Tensor& self = tensor_arg(call, 0);
  const Tensor& mask = tensor_arg(call, 1);
  if (mask->dtype() != DType::bool_) {
    raise_op(ErrorKind::Runtime, call.row.name, "expected BoolTensor for mask, but got ", row(mask->dtype()).name);
  }
  const Tensor* tensors[] = {&self, &mask};
  return broadcast_sizes(call, tensors);
}

Dim count_arg(const OpCall& call, int index) {
  Dim count = dim_arg(call, index);
  if (known_less(count, 0))
    raise_op(ErrorKind::Runtime, call.row.name, "count must be non-negative, got ", count.str());
  return count;
}

void push_rows(const OpCall& call, std::vector<OutSpec>& outs, Dim count) {
  outs.push_back({TensorSpec::contiguous(DType::int64, DimVec({count, int64_t{self_spec(call).rank()}})), 0});
}

// A number counts as one dim.
void push_columns(const OpCall& call, std::vector<OutSpec>& outs, Dim count) {
  for (int i = 0; i < std::max(self_spec(call).rank(), 1); ++i) push_contiguous(outs, DType::int64, {count});
}

}  // namespace

int64_t count_masked(const OpCall& call) {
  DimVec sizes = masked_sizes(call);
  const Tensor& mask = tensor_arg(call, 1);
  return mask->numel() == 0 ? 0 : count_true(mask) * (product(sizes.span()).value() / mask->numel());
}

void nonzero_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  push_rows(call, outs, count_true(tensor_arg(call, 0)));
}

void where_condition_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  push_columns(call, outs, count_true(tensor_arg(call, 0)));
}

void masked_select_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  push_contiguous(outs, self_spec(call).dtype, {count_masked(call)});
}

void nonzero_count_shape(const OpCall&, std::vector<OutSpec>& outs) { push_contiguous(outs, DType::int64, {}); }

void masked_count_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  static_cast<void>(masked_sizes(call));
  push_contiguous(outs, DType::int64, {});
}

void first_at_mask_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  push_contiguous(outs, self_spec(call).dtype, {});
}

void sized_nonzero_shape(const OpCall& call, std::vector<OutSpec>& outs) { push_rows(call, outs, count_arg(call, 1)); }

void sized_where_shape(const OpCall& call, std::vector<OutSpec>& outs) { push_columns(call, outs, count_arg(call, 1)); }

void sized_masked_select_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  static_cast<void>(masked_sizes(call));
  push_contiguous(outs, self_spec(call).dtype, {count_arg(call, 2)});
}

}  // namespace md
