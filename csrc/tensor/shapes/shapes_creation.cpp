// Shape rules of ops that create tensors.
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "tensor/ops/call_args.h"
#include "tensor/ops/shape_rules.h"
#include "tensor/shapes/creation.h"
#include "tensor/shapes/memory_format.h"
#include "tensor/tensor_modes.h"

namespace md {
namespace {

void check_sizes(const OpCall& call, const DimVec& sizes, size_t item) {
  for (Dim size : sizes) {
    if (known_less(size, 0)) {
      raise_op(ErrorKind::Runtime, call.row.name, "Dimension size must be non-negative, got size ", str(sizes.span()));
    }
  }
  if (any_symbolic(sizes.span())) return;
  __int128 bytes = static_cast<__int128>(item);
  for (Dim size : sizes) bytes = std::min<__int128>(bytes * std::max<int64_t>(size.value(), 1), INT64_MAX);
  if (bytes == INT64_MAX) {
    raise_op(ErrorKind::Runtime, call.row.name, "Storage size calculation overflowed with sizes=", str(sizes.span()));
  }
}

void push(const OpCall& call, std::vector<OutSpec>& outs, DType dtype, DimVec sizes) {
  check_sizes(call, sizes, item_size(dtype));
  outs.push_back({TensorSpec::contiguous(dtype, std::move(sizes)), 0});
}

// The numbers of rand and randn are no integers.
void check_floats(const OpCall& call, DType dtype) {
  if (call.row.kind != OpKind::Random || is_inexact(dtype)) return;
  raise_op(ErrorKind::NotImplemented, call.row.name, "not implemented for '", row(dtype).name, "'");
}

std::optional<DType> dtype_arg(const OpCall& call) { return optional_dtype_arg(call, call.row.schema.find("dtype")); }

}  // namespace

// empty, zeros, ones, rand, randn.
void creation_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  push(call, outs, dtype_arg(call).value_or(default_dtype()), dims_arg(call, 0));
  check_floats(call, outs.back().spec.dtype);
  const MemoryFormatRow* format = memory_format_arg(call);
  if (format == nullptr) return;
  if (format->name == "preserve_format") {
    raise_op(ErrorKind::Runtime, call.row.name, "preserve memory format is unsupported where there is no tensor");
  }
  TensorSpec& spec = outs.back().spec;
  spec.strides = strides_in_format(call, spec.sizes, {});
}

void manual_seed_shape(const OpCall&, std::vector<OutSpec>&) {}

void full_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  push(call, outs, dtype_arg(call).value_or(scalar_dtype(scalar_arg(call, 1).category())), dims_arg(call, 0));
}

ArangeRange arange_range(const OpCall& call) {
  bool has_start = call.row.schema.params[0].name == "start";
  ArangeRange range;
  range.start = has_start ? scalar_arg(call, 0) : Scalar(int64_t{0});
  range.end = scalar_arg(call, has_start ? 1 : 0);
  range.step = has_start ? scalar_arg(call, 2) : Scalar(int64_t{1});
  return range;
}

// For integers of which one is symbolic; returns false otherwise.
static bool symbolic_arange(const OpCall& call, const ArangeRange& range, std::vector<OutSpec>& outs) {
  if (!range.start.is_symbolic() && !range.end.is_symbolic()) return false;
  if (range.start.is_float() || range.end.is_float() || range.step.is_float()) return false;
  Dim step = range.step.as_int();
  Dim distance = range.end.as_dim() - range.start.as_dim();
  if (known_less(step, 1) || known_less(distance, 0)) return false;
  push(call, outs, dtype_arg(call).value_or(DType::int64), {floor_divide(distance + step - 1, step)});
  return true;
}

void arange_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  ArangeRange range = arange_range(call);
  if (symbolic_arange(call, range, outs)) return;
  double start = range.start.as_double(), end = range.end.as_double(), step = range.step.as_double();
  const std::string& name = call.row.name;
  bool floating = range.start.is_float() || range.end.is_float() || range.step.is_float();
  DType dtype = dtype_arg(call).value_or(floating ? default_dtype() : DType::int64);
  if (dtype == DType::bool_) raise_op(ErrorKind::NotImplemented, name, "not implemented for 'Bool'");
  if (step == 0 || std::isnan(step)) raise_op(ErrorKind::Runtime, name, "step must be nonzero");
  if (!std::isfinite(start) || !std::isfinite(end)) {
    raise_op(ErrorKind::Runtime, name, "unsupported range: ", range.start.str(), " -> ", range.end.str());
  }
  if ((step > 0 && start > end) || (step < 0 && start < end)) {
    raise_op(ErrorKind::Runtime, name, "upper bound and lower bound inconsistent with step sign: start ",
             range.start.str(), ", end ", range.end.str(), ", step ", range.step.str());
  }
  double count = std::ceil((end - start) / step);
  // 64-bit elements are counted in integer arithmetic, as in torch.
  if (!floating || dtype == DType::int64) {
    if (range.step.as_int() == 0) raise_op(ErrorKind::Value, name, "step must be nonzero");
    // Exact even where double is not.
    __int128 distance = static_cast<__int128>(range.end.as_int()) - range.start.as_int();
    __int128 stride = range.step.as_int();
    __int128 whole = distance / stride + (distance % stride != 0);
    count = static_cast<double>(whole);
    if (whole < INT64_MAX) return push(call, outs, dtype, {Dim(static_cast<int64_t>(whole))});
  }
  if (!(count < 0x1p62)) raise_op(ErrorKind::Runtime, name, "invalid size, possible overflow?");
  push(call, outs, dtype, {Dim(static_cast<int64_t>(count))});
}

void linspace_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  if (dtype_arg(call) == DType::bool_) raise_op(ErrorKind::NotImplemented, call.row.name, "not implemented for 'Bool'");
  for (int bound : {0, 1}) {
    if (!arg_is<Tensor>(call, bound) || tensor_arg(call, bound)->rank() == 0) continue;
    raise_op(ErrorKind::Runtime, call.row.name, "only supports 0-dimensional start and end tensors, but got ",
             call.row.schema.params[static_cast<size_t>(bound)].name, " with ", tensor_arg(call, bound)->rank(),
             " dimension(s)", operand_shapes(call));
  }
  int64_t steps = int_arg(call, 2);
  if (steps < 0) raise_op(ErrorKind::Runtime, call.row.name, "number of steps must be non-negative, got ", steps);
  push(call, outs, dtype_arg(call).value_or(default_dtype()), {Dim(steps)});
}

void eye_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  Dim rows = dim_arg(call, 0);
  Dim columns = optional_dim_arg(call, 1).value_or(rows);
  if (known_less(rows, 0))
    raise_op(ErrorKind::Runtime, call.row.name, "n must be greater or equal to 0, got ", rows.str());
  if (known_less(columns, 0))
    raise_op(ErrorKind::Runtime, call.row.name, "m must be greater or equal to 0, got ", columns.str());
  push(call, outs, dtype_arg(call).value_or(default_dtype()), {rows, columns});
}

IntRange randint_range(const OpCall& call) {
  int low = call.row.schema.find("low");
  return {low < 0 ? 0 : int_arg(call, low), int_arg(call, call.row.schema.find("high"))};
}

// Whether the dtype's range includes it; floats round integers.
static bool holds(DType dtype, int64_t value) {
  if (dtype == DType::float16) return std::abs(value) <= 65504;
  if (is_floating(dtype) || dtype == DType::int64) return true;
  int64_t least = row(dtype).is_signed ? -largest_exact(dtype) - 1 : 0;
  return value >= least && value <= largest_exact(dtype);
}

static void check_range(const OpCall& call, DType dtype) {
  IntRange range = randint_range(call);
  if (range.low >= range.high) {
    raise_op(ErrorKind::Runtime, call.row.name, "expects 'low' to be less than 'high', but got low=", range.low,
             " >= high=", range.high);
  }
  if (!holds(dtype, range.low) || !holds(dtype, range.high - 1)) {
    raise_op(ErrorKind::Runtime, call.row.name, "low=", range.low, " or high - 1=", range.high - 1,
             " is out of bounds for ", row(dtype).name);
  }
}

void randint_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  DType dtype = dtype_arg(call).value_or(DType::int64);
  check_range(call, dtype);
  push(call, outs, dtype, dims_arg(call, call.row.schema.find("size")));
}

void randperm_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  int64_t n = int_arg(call, 0);
  DType dtype = dtype_arg(call).value_or(DType::int64);
  if (n < 0) raise_op(ErrorKind::Runtime, call.row.name, "n must be non-negative, got ", n);
  if (dtype == DType::bool_) raise_op(ErrorKind::NotImplemented, call.row.name, "not implemented for 'bool'");
  if (n - 1 > largest_exact(dtype)) {
    raise_op(ErrorKind::Runtime, call.row.name, "n=", n, " is too large for ", row(dtype).name);
  }
  push(call, outs, dtype, {Dim(n)});
}

// poisson, ...: contiguous.
void sampled_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  const Tensor& self = tensor_arg(call, 0);
  check_floats(call, self->dtype());
  push(call, outs, self->dtype(), self.spec().sizes);
}

// bernoulli_, ...: preserves a dense layout, in any dtype.
void drawn_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  const Tensor& self = tensor_arg(call, 0);
  push(call, outs, dtype_arg(call).value_or(self->dtype()), self.spec().sizes);
  outs.back().spec.strides = strides_in_format(call, self.spec().sizes, preserved_strides(self));
}

// zeros_like, rand_like, ...
void like_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  drawn_shape(call, outs);
  check_floats(call, outs.back().spec.dtype);
}

void randint_like_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  check_range(call, dtype_arg(call).value_or(tensor_arg(call, 0)->dtype()));
  drawn_shape(call, outs);
}

// new_zeros, ...
void new_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  push(call, outs, dtype_arg(call).value_or(tensor_arg(call, 0)->dtype()), dims_arg(call, 1));
}

}  // namespace md
