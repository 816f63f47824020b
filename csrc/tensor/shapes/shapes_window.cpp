// Shape rules of ops with sliding windows: convolutions, pools, unfold.
#include "tensor/ops/call_args.h"
#include "tensor/ops/shape_rules.h"
#include "tensor/shapes/shape_support.h"
#include "tensor/shapes/window_geometry.h"

namespace md {

const DimVec& window_arg(const OpCall& call, const char* name) { return dims_arg(call, call.row.schema.find(name)); }

namespace {

void require_positive(const OpCall& call, const char* name) {
  for (Dim value : window_arg(call, name)) {
    if (known_less(value, 1)) {
      raise_op(ErrorKind::Runtime, call.row.name, name, " must be greater than zero, but got ",
               str(window_arg(call, name).span()), operand_shapes(call));
    }
  }
}

void require_not_negative(const OpCall& call, const char* name) {
  for (Dim value : window_arg(call, name)) {
    if (known_less(value, 0)) {
      raise_op(ErrorKind::Runtime, call.row.name, "negative ", name, " is not supported, got ",
               str(window_arg(call, name).span()), operand_shapes(call));
    }
  }
}

void require_floating(const OpCall& call, DType dtype) {
  if (!is_floating(dtype)) {
    raise_op(ErrorKind::NotImplemented, call.row.name, "not implemented for '", row(dtype).name, "'");
  }
}

// Sums that are also exact in int64.
void require_floating_or(const OpCall& call, DType dtype, DType whole) {
  if (dtype != whole) require_floating(call, dtype);
}

// (N, C, ...) or (C, ...). No dim from `first_not_empty` on may be of size zero.
void require_pool_input(const OpCall& call, int spatial, int first_not_empty) {
  const TensorSpec& self = tensor_arg(call, 0).spec();
  bool fits = self.rank() == spatial + 1 || self.rank() == spatial + 2;
  for (int i = first_not_empty; fits && i < self.rank(); ++i) fits = !known_equal(self.sizes[i], 0);
  if (!fits) {
    raise_op(ErrorKind::Runtime, call.row.name, "Expected ", spatial + 1, "D or ", spatial + 2,
             "D (batch mode) tensor with optional 0 dim batch size for input, but got", operand_shapes(call));
  }
}

Dim pooled_size(const OpCall& call, Dim input, Dim kernel, Dim stride, Dim padding, Dim dilation, bool ceil_mode) {
  Dim span = dilation * (kernel - 1) + 1;
  Dim room = input + Dim(2) * padding;
  Dim extra = ceil_mode ? stride - 1 : Dim(0);
  // In ceil mode a window may be larger than the input.
  if (known_less(room + extra, span)) {
    raise_op(ErrorKind::Runtime, call.row.name, "Output size is too small: a window of ", span.str(),
             " does not fit into ", room.str(), operand_shapes(call));
  }
  Dim output = floor_divide(room - span + extra, stride) + 1;
  // The last window must begin inside the input or its left padding.
  bool outside = ceil_mode && !known_less((output - 1) * stride, input + padding);
  return outside ? output - 1 : output;
}

DimVec pooled_sizes(const OpCall& call) {
  const TensorSpec& self = tensor_arg(call, 0).spec();
  const DimVec& kernel = window_arg(call, "kernel_size");
  require_pool_input(call, kernel.size(), self.rank() == kernel.size() + 2 ? 1 : 0);
  for (const char* name : {"kernel_size", "stride"}) require_positive(call, name);
  require_not_negative(call, "padding");
  bool dilates = call.row.schema.find("dilation") >= 0;
  if (dilates) require_positive(call, "dilation");
  const DimVec& stride = window_arg(call, "stride");
  const DimVec& padding = window_arg(call, "padding");
  DimVec sizes = self.sizes;
  int first = self.rank() - kernel.size();
  for (int i = 0; i < kernel.size(); ++i) {
    Dim dilation = dilates ? window_arg(call, "dilation")[i] : Dim(1);
    if (known_less(dilation * (kernel[i] - 1) + 1, Dim(2) * padding[i])) {
      raise_op(ErrorKind::Runtime, call.row.name,
               "pad should be at most half of effective kernel size, but got pad=", padding[i].str(),
               ", kernel_size=", kernel[i].str(), " and dilation=", dilation.str(), operand_shapes(call));
    }
    bool ceil_mode = bool_arg(call, call.row.schema.find("ceil_mode"));
    sizes[first + i] = pooled_size(call, self.sizes[first + i], kernel[i], stride[i], padding[i], dilation, ceil_mode);
  }
  return sizes;
}

}  // namespace

void max_pool_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  DType dtype = tensor_arg(call, 0)->dtype();
  if (dtype == DType::bool_) require_floating(call, dtype);
  DimVec sizes = pooled_sizes(call);
  push_contiguous(outs, dtype, sizes);
  push_contiguous(outs, DType::int64, sizes);
}

void max_pool_values_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  max_pool_shape(call, outs);
  outs.pop_back();
}

void avg_pool_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  DType dtype = tensor_arg(call, 0)->dtype();
  require_floating_or(call, dtype, DType::int64);
  push_contiguous(outs, dtype, pooled_sizes(call));
}

// Of the gradient of a pool: the sizes of what was pooled are an argument.
void pool_gradient_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  DType dtype = tensor_arg(call, 0)->dtype();
  require_floating(call, dtype);
  const DimVec& sizes = dims_arg(call, 1);
  if (sizes.size() != tensor_arg(call, 0)->rank())
    raise_op(ErrorKind::Runtime, call.row.name, "the gradient of a pool of sizes ", str(sizes.span()),
             operand_shapes(call));
  push_contiguous(outs, dtype, sizes);
}

// Values, and for the maximum their indices.
void adaptive_pool_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  const TensorSpec& self = tensor_arg(call, 0).spec();
  const DimVec& wanted = window_arg(call, "output_size");
  require_floating(call, self.dtype);
  // As in torch: without channels the mean is an error, while indices of the maximum require a
  // channel dim besides the batch.
  bool gives_places = call.row.schema.returns.size() > 1;
  require_pool_input(call, wanted.size(), gives_places ? 1 : self.rank() - wanted.size());
  DimVec sizes = self.sizes;
  for (int i = 0; i < wanted.size(); ++i) {
    if (known_less(wanted[i], 0)) {
      raise_op(ErrorKind::Runtime, call.row.name,
               "elements of output_size must be greater than or equal to 0, but got ", str(wanted.span()),
               operand_shapes(call));
    }
    sizes[self.rank() - wanted.size() + i] = wanted[i];
  }
  push_contiguous(outs, self.dtype, sizes);
  if (gives_places) push_contiguous(outs, DType::int64, sizes);
}

namespace {

void require_channels(const OpCall& call, const TensorSpec& input, const TensorSpec& weight, bool transposed) {
  Dim groups = dim_arg(call, call.row.schema.find("groups"));
  if (known_less(groups, 1)) {
    raise_op(ErrorKind::Runtime, call.row.name, "non-positive groups is not supported, got ", groups.str(),
             operand_shapes(call));
  }
  Dim expected = transposed ? weight.sizes[0] : weight.sizes[1] * groups;
  bool divides = known_equal(floor_divide(weight.sizes[0], groups) * groups, weight.sizes[0]);
  if (!known_equal(input.sizes[1], expected) || !divides) {
    raise_op(ErrorKind::Runtime, call.row.name, "Given groups=", groups.str(), ", weight of size ",
             str(weight.sizes.span()), ", expected input ", str(input.sizes.span()), " to have ", expected.str(),
             " channels and the weight's first dim to be divisible by groups, but got ", input.sizes[1].str(),
             " channels");
  }
}

}  // namespace

void convolution_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  const TensorSpec& input = tensor_arg(call, 0).spec();
  const TensorSpec& weight = tensor_arg(call, 1).spec();
  const DimVec& stride = window_arg(call, "stride");
  const DimVec& padding = window_arg(call, "padding");
  const DimVec& dilation = window_arg(call, "dilation");
  const DimVec& output_padding = window_arg(call, "output_padding");
  bool transposed = bool_arg(call, call.row.schema.find("transposed"));
  int spatial = stride.size();
  bool ranks_fit = spatial >= 1 && spatial <= kWindowDims && input.rank() == spatial + 2 &&
                   weight.rank() == spatial + 2 && padding.size() == spatial && dilation.size() == spatial &&
                   output_padding.size() == spatial;
  if (!ranks_fit) {
    raise_op(ErrorKind::Runtime, call.row.name, "input and weight must have two dims more than stride ",
             str(stride.span()), " has numbers", operand_shapes(call));
  }
  // torch supports integers other than int64 only without transposition.
  bool plain = !transposed && input.dtype != DType::bool_;
  for (Dim value : dilation) plain = plain && known_equal(value, 1);
  if (!plain) require_floating_or(call, input.dtype, DType::int64);
  for (const char* name : {"stride", "dilation"}) require_positive(call, name);
  for (const char* name : {"padding", "output_padding"}) require_not_negative(call, name);
  require_channels(call, input, weight, transposed);
  Dim channels = transposed ? weight.sizes[1] * dim_arg(call, call.row.schema.find("groups")) : weight.sizes[0];
  if (!arg_is_none(call, 2)) {
    const TensorSpec& bias = tensor_arg(call, 2).spec();
    if (bias.rank() != 1 || !known_equal(bias.sizes[0], channels)) {
      raise_op(ErrorKind::Runtime, call.row.name, "expected bias to be 1-dimensional with ", channels.str(),
               " elements, but got bias of size ", str(bias.sizes.span()), operand_shapes(call));
    }
  }
  DimVec sizes = {input.sizes[0], channels};
  for (int i = 0; i < spatial; ++i) {
    Dim span = dilation[i] * (weight.sizes[i + 2] - 1) + 1;
    Dim size = input.sizes[i + 2];
    if (transposed) {
      if (!known_less(output_padding[i], stride[i]) && !known_less(output_padding[i], dilation[i])) {
        raise_op(ErrorKind::Runtime, call.row.name,
                 "output padding must be smaller than either stride or dilation, but got ", str(output_padding.span()),
                 operand_shapes(call));
      }
      Dim whole = (size - 1) * stride[i] + span + output_padding[i];
      if (!known_less(Dim(2) * padding[i], whole)) {
        raise_op(ErrorKind::Runtime, call.row.name, "output size is too small for padding ", str(padding.span()),
                 operand_shapes(call));
      }
      sizes.push_back(whole - Dim(2) * padding[i]);
    } else {
      Dim room = size + Dim(2) * padding[i];
      if (known_less(room, span)) {
        raise_op(ErrorKind::Runtime, call.row.name, "Kernel size can't be greater than actual input size: a window of ",
                 span.str(), " does not fit into ", room.str(), operand_shapes(call));
      }
      sizes.push_back(floor_divide(room - span, stride[i]) + 1);
    }
  }
  push_contiguous(outs, input.dtype, std::move(sizes));
}

void convolution_weights_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  const TensorSpec &small = tensor_arg(call, 0).spec(), &large = tensor_arg(call, 1).spec();
  const DimVec& kernel = window_arg(call, "kernel");
  int spatial = kernel.size();
  Dim groups = dim_arg(call, call.row.schema.find("groups"));
  bool ranks_fit = spatial >= 1 && spatial <= kWindowDims && small.rank() == spatial + 2 && large.rank() == spatial + 2;
  for (const char* name : {"stride", "padding", "dilation"})
    ranks_fit = ranks_fit && window_arg(call, name).size() == spatial;
  if (!ranks_fit)
    raise_op(ErrorKind::Runtime, call.row.name, "small and large must have two dims more than kernel ",
             str(kernel.span()), " has numbers", operand_shapes(call));
  if (!is_floating(small.dtype)) raise_op(ErrorKind::Runtime, call.row.name, "is not implemented for integers");
  for (const char* name : {"stride", "dilation"}) require_positive(call, name);
  require_not_negative(call, "padding");
  bool fits = !known_less(groups, 1) && known_equal(small.sizes[0], large.sizes[0]) &&
              known_equal(floor_divide(large.sizes[1], groups) * groups, large.sizes[1]) &&
              known_equal(floor_divide(small.sizes[1], groups) * groups, small.sizes[1]);
  if (!fits)
    raise_op(ErrorKind::Runtime, call.row.name, "small and large must have as many images and channels in ",
             groups.str(), " groups", operand_shapes(call));
  DimVec sizes = {small.sizes[1], floor_divide(large.sizes[1], groups)};
  for (Dim size : kernel) sizes.push_back(size);
  push_contiguous(outs, small.dtype, std::move(sizes));
}

// Tensor.unfold: the windows along dim as a new last dim.
void unfold_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  const TensorSpec& self = tensor_arg(call, 0).spec();
  int dim = wrap_dim(call, int_arg(call, 1), self.rank());
  int64_t size = int_arg(call, 2), step = int_arg(call, 3);
  Dim extent = self.rank() == 0 ? Dim(1) : self.sizes[dim];
  if (size < 0) raise_op(ErrorKind::Runtime, call.row.name, "size is ", size, " but must be >= 0");
  if (known_less(extent, size)) {
    raise_op(ErrorKind::Runtime, call.row.name, "maximum size for tensor at dimension ", dim, " is ", extent.str(),
             " but size is ", size, operand_shapes(call));
  }
  if (step <= 0) raise_op(ErrorKind::Runtime, call.row.name, "step is ", step, " but must be > 0");
  TensorSpec spec = self;
  spec.requires_grad = false;
  Dim stride = self.rank() == 0 ? Dim(1) : self.strides[dim];
  if (self.rank() > 0) {
    spec.sizes[dim] = floor_divide(extent - size, step) + 1;
    spec.strides[dim] = stride * step;
  }
  spec.sizes.push_back(size);
  spec.strides.push_back(stride);
  outs.push_back({std::move(spec), 0});
}

// Insertion positions in sorted boundaries: one sequence for all values, or one for each of their slices.
void search_sorted_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  const TensorSpec& boundaries = tensor_arg(call, 0).spec();
  const TensorSpec& values = tensor_arg(call, 1).spec();
  bool fits = boundaries.rank() == 1 || (boundaries.rank() == values.rank() && boundaries.dtype == values.dtype);
  for (int i = 0; fits && boundaries.rank() > 1 && i + 1 < values.rank(); ++i)
    fits = known_equal(boundaries.sizes[i], values.sizes[i]);
  if (!fits || boundaries.dtype != values.dtype) {
    raise_op(ErrorKind::Runtime, call.row.name, "boundaries and values do not fit together", operand_shapes(call));
  }
  push_contiguous(outs, DType::int64, values.sizes);
}

// Of checked arguments: grid names a place for each pixel of the result.
void grid_sample_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  const TensorSpec &input = tensor_arg(call, 0).spec(), &grid = tensor_arg(call, 1).spec();
  bool fits = (input.rank() == 4 || input.rank() == 5) && grid.rank() == input.rank() && grid.dtype == input.dtype &&
              known_equal(grid.sizes[0], input.sizes[0]) && known_equal(grid.sizes[grid.rank() - 1], input.rank() - 2);
  if (!fits) raise_op(ErrorKind::Runtime, call.row.name, "input and grid do not fit together", operand_shapes(call));
  int64_t mode = int_arg(call, 2), padding = int_arg(call, 3);
  if (mode < 0 || mode > 2 || padding < 0 || padding > 2 || (mode == 2 && input.rank() != 4))
    raise_op(ErrorKind::Runtime, call.row.name, "there is no mode ", mode, " with padding ", padding,
             operand_shapes(call));
  if (input.dtype != DType::float32 && input.dtype != DType::float64)
    raise_op(ErrorKind::NotImplemented, call.row.name, "not implemented for ", row(input.dtype).name);
  DimVec sizes = {input.sizes[0], input.sizes[1]};
  for (int i = 1; i + 1 < grid.rank(); ++i) sizes.push_back(grid.sizes[i]);
  push_contiguous(outs, input.dtype, std::move(sizes));
}

// Another number of elements along a dim.
void resample_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  const TensorSpec& self = tensor_arg(call, 0).spec();
  if (self.dtype != DType::float32 && self.dtype != DType::float64)
    raise_op(ErrorKind::NotImplemented, call.row.name, "not implemented for ", row(self.dtype).name);
  int dim = wrap_dim(call, int_arg(call, 1), self.rank());
  Dim size = dim_arg(call, 2);
  if (self.rank() == 0 || known_less(self.sizes[dim], 1) || known_less(size, 1))
    raise_op(ErrorKind::Runtime, call.row.name, "sizes should be greater than 0, but got ", size.str(),
             operand_shapes(call));
  DimVec sizes = self.sizes;
  sizes[dim] = size;
  push_contiguous(outs, self.dtype, std::move(sizes));
}

}  // namespace md
