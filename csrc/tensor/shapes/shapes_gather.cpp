// Shape rules of ops that copy parts of tensors.
#include <algorithm>

#include "tensor/ops/call_args.h"
#include "tensor/ops/shape_rules.h"
#include "tensor/shapes/index_layout.h"
#include "tensor/shapes/shape_support.h"

namespace md {
namespace {

// torch's legacy rule: an empty 1-d tensor can be concatenated with anything.
bool is_skipped(const TensorSpec& spec) { return spec.rank() == 1 && same(spec.sizes[0], Dim(0)); }

}  // namespace

void cat_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  const std::vector<Tensor>& tensors = tensors_arg(call, 0);
  if (tensors.empty()) raise_op(ErrorKind::Value, call.row.name, "expected a non-empty list of Tensors");
  const TensorSpec* first = nullptr;
  for (const Tensor& tensor : tensors) {
    if (first == nullptr && !is_skipped(tensor.spec())) first = &tensor.spec();
  }
  if (first == nullptr) first = &tensors[0].spec();
  int dim = wrap_dim(call, int_arg(call, 1), first->rank());
  DimVec sizes = first->sizes;
  Dim total = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const TensorSpec& spec = tensors[i].spec();
    if (spec.dtype != first->dtype) {
      raise_op(ErrorKind::Runtime, call.row.name, "tensors must have one dtype, but got ", row(first->dtype).name,
               " and ", row(spec.dtype).name);
    }
    if (spec.rank() == 0) {
      raise_op(ErrorKind::Runtime, call.row.name, "zero-dimensional tensor (at position ", i,
               ") cannot be concatenated", operand_shapes(call));
    }
    if (is_skipped(spec) && first->rank() != 1) continue;
    if (spec.rank() != first->rank()) {
      raise_op(ErrorKind::Runtime, call.row.name, "Tensors must have same number of dimensions: got ", first->rank(),
               " and ", spec.rank(), "; shapes ", str(first->sizes.span()), " and ", str(spec.sizes.span()));
    }
    for (int d = 0; d < spec.rank(); ++d) {
      if (d != dim && !known_equal(spec.sizes[d], sizes[d])) {
        raise_op(ErrorKind::Runtime, call.row.name, "Sizes of tensors must match except in dimension ", dim,
                 ". Expected size ", sizes[d].str(), " but got size ", spec.sizes[d].str(), " for tensor number ", i,
                 " in the list; shapes ", str(first->sizes.span()), " and ", str(spec.sizes.span()));
      }
    }
    total = total + spec.sizes[dim];
  }
  sizes[dim] = total;
  push_contiguous(outs, first->dtype, std::move(sizes));
}

void stack_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  const std::vector<Tensor>& tensors = tensors_arg(call, 0);
  if (tensors.empty()) raise_op(ErrorKind::Runtime, call.row.name, "expects a non-empty TensorList");
  const TensorSpec& first = tensors[0].spec();
  int dim = wrap_dim(call, int_arg(call, 1), first.rank() + 1);
  for (size_t i = 1; i < tensors.size(); ++i) {
    const TensorSpec& spec = tensors[i].spec();
    if (spec.dtype != first.dtype) {
      raise_op(ErrorKind::Runtime, call.row.name, "tensors must have one dtype, but got ", row(first.dtype).name,
               " and ", row(spec.dtype).name);
    }
    bool equal = spec.rank() == first.rank();
    for (int d = 0; equal && d < spec.rank(); ++d) equal = known_equal(spec.sizes[d], first.sizes[d]);
    if (!equal) {
      raise_op(ErrorKind::Runtime, call.row.name, "expects each tensor to be equal size, but got ",
               str(first.sizes.span()), " at entry 0 and ", str(spec.sizes.span()), " at entry ", i);
    }
  }
  DimVec sizes = first.sizes;
  sizes.insert(dim, static_cast<int64_t>(tensors.size()));
  push_contiguous(outs, first.dtype, std::move(sizes));
}

void index_select_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  const TensorSpec& self = tensor_arg(call, 0).spec();
  const TensorSpec& index = tensor_arg(call, 2).spec();
  int dim = wrap_dim(call, int_arg(call, 1), self.rank());
  check_index_dtype(call, index);
  if (index.rank() > 1) {
    raise_op(ErrorKind::Index, call.row.name, "Index is supposed to be a vector, but its shape is ",
             str(index.sizes.span()));
  }
  if (self.rank() == 0 && !known_equal(index.numel(), 1)) {
    raise_op(ErrorKind::Runtime, call.row.name, "Index to scalar can have only 1 value, got ", index.numel().str(),
             " value(s)", operand_shapes(call));
  }
  DimVec sizes = self.sizes;
  if (!sizes.empty()) sizes[dim] = index.rank() == 0 ? Dim(1) : index.sizes[0];
  push_contiguous(outs, self.dtype, std::move(sizes));
}

void gather_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  const TensorSpec& self = tensor_arg(call, 0).spec();
  const TensorSpec& index = tensor_arg(call, 2).spec();
  int dim = wrap_dim(call, int_arg(call, 1), self.rank());
  bool is_empty = known_equal(index.numel(), 0);
  if (!is_empty) check_index_dtype(call, index);
  bool fits = is_empty || std::max(index.rank(), 1) == std::max(self.rank(), 1);
  for (int d = 0; !is_empty && fits && d < std::min(self.rank(), index.rank()); ++d) {
    fits = d == dim || !known_less(self.sizes[d], index.sizes[d]);
  }
  if (!fits) {
    raise_op(ErrorKind::Runtime, call.row.name, "Size does not match at dimension ", dim, ": expected index ",
             str(index.sizes.span()), " to be no larger than self ", str(self.sizes.span()), " apart from dimension ",
             dim);
  }
  push_contiguous(outs, self.dtype, index.sizes);
}

void embedding_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  const TensorSpec& input = tensor_arg(call, 0).spec();
  const TensorSpec& weight = tensor_arg(call, 1).spec();
  check_index_dtype(call, input);
  if (weight.rank() != 2) {
    raise_op(ErrorKind::Runtime, call.row.name, "'weight' must be 2-D, but its shape is ", str(weight.sizes.span()));
  }
  DimVec sizes = input.sizes;
  sizes.push_back(weight.sizes[1]);
  push_contiguous(outs, weight.dtype, std::move(sizes));
}

void masked_fill_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  const Tensor& self = tensor_arg(call, 0);
  const Tensor& mask = tensor_arg(call, 1);
  if (mask->dtype() != DType::bool_) {
    raise_op(ErrorKind::Runtime, call.row.name, "expects mask to be bool, but got ", row(mask->dtype()).name);
  }
  bool fills_complex = arg_is<Scalar>(call, 2)   ? scalar_arg(call, 2).category() == DTypeCategory::Complex
                       : arg_is<Tensor>(call, 2) ? is_complex(tensor_arg(call, 2)->dtype())
                                                 : false;
  if (fills_complex && !is_complex(self->dtype()))
    raise_op(ErrorKind::Runtime, call.row.name, "value cannot be converted to type ", row(self->dtype()).name,
             " without overflow");
  const Tensor* tensors[] = {&self, &mask};
  DimVec sizes = broadcast_sizes(call, tensors);
  OutSpec out;
  out.spec.dtype = self->dtype();
  out.spec.strides = pointwise_strides(sizes, {tensors, 1});
  out.spec.sizes = std::move(sizes);
  outs.push_back(std::move(out));
}

// tril, triu.
void triangle_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  const TensorSpec& self = tensor_arg(call, 0).spec();
  if (self.rank() < 2) {
    raise_op(ErrorKind::Runtime, call.row.name, "input tensor must have at least 2 dimensions, but its shape is ",
             str(self.sizes.span()));
  }
  push_contiguous(outs, self.dtype, self.sizes);
}

// The indices have the sizes of self without dim.
void class_losses_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  const TensorSpec &input = tensor_arg(call, 0).spec(), &target = tensor_arg(call, 1).spec();
  if (!is_floating(input.dtype) || target.dtype != DType::int64 || input.rank() != target.rank() + 1)
    raise_op(ErrorKind::Runtime, call.row.name, "expected floats, and an int64 index of one dim less",
             operand_shapes(call));
  push_contiguous(outs, input.dtype, target.sizes);
  push_contiguous(outs, input.dtype, target.sizes);
  DimVec places = input.sizes;
  places[static_cast<int>(int_arg(call, 2))] = 1;
  push_contiguous(outs, DType::int64, std::move(places));
}

}  // namespace md
