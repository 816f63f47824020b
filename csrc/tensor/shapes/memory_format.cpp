#include "tensor/shapes/memory_format.h"

#include <algorithm>
#include <vector>

#include "tensor/ops/call_args.h"
#include "tensor/ops/shape_rules.h"

namespace md {
namespace {

// Null for an unknown name.
const MemoryFormatRow* find_format(std::string_view name) {
  auto found = std::ranges::find(kMemoryFormats, name, &MemoryFormatRow::name);
  return found == kMemoryFormats.end() ? nullptr : &*found;
}

// Batch, spatial dims, channels: the channels of one position are contiguous.
DimVec channels_last_strides(const DimVec& sizes) {
  DimVec strides = sizes;
  strides[1] = Dim(1);
  Dim stride = sizes[1];
  for (int dim = sizes.size() - 1; dim >= 2; --dim) {
    strides[dim] = stride;
    stride = stride * sizes[dim];
  }
  strides[0] = stride;
  return strides;
}

// Whether the elements fill memory without gaps or duplicates, in some order of the dims.
bool is_packed(const TensorSpec& spec) {
  std::vector<int> order;
  for (int i = 0; i < spec.rank(); ++i) {
    if (known_less(1, spec.sizes[i])) order.push_back(i);
  }
  std::ranges::sort(order, [&](int a, int b) { return known_less(spec.strides[a], spec.strides[b]); });
  Dim expected = 1;
  for (int dim : order) {
    if (!known_equal(spec.strides[dim], expected)) return false;
    expected = expected * spec.sizes[dim];
  }
  return true;
}

}  // namespace

std::string_view suggested_format(const TensorSpec& spec) {
  if (spec.rank() != 4 && spec.rank() != 5) return "contiguous_format";
  Dim least = 0;
  auto grows = [&](int dim) {
    if (known_equal(spec.sizes[dim], 0) || known_less(spec.strides[dim], least)) return false;
    least = known_less(1, spec.sizes[dim]) ? spec.strides[dim] * spec.sizes[dim] : spec.strides[dim];
    return true;
  };
  bool last = !known_equal(spec.strides[1], 0) && grows(1);
  for (int dim = spec.rank() - 1; last && dim >= 2; --dim) last = grows(dim);
  last = last && !known_equal(least, spec.strides[1]) && grows(0);
  if (!last) return "contiguous_format";
  return spec.rank() == 4 ? "channels_last" : "channels_last_3d";
}

DimVec preserved_strides(const Tensor& tensor) {
  const TensorSpec& spec = tensor.spec();
  if (tensor->is_contiguous() || is_packed(spec)) return spec.strides;
  const Tensor* self = &tensor;
  return pointwise_strides(spec.sizes, {&self, 1});
}

bool lies_as(const TensorSpec& spec, const DimVec& strides) {
  for (int i = 0; i < spec.rank(); ++i) {
    if (!known_equal(spec.sizes[i], 1) && !known_equal(spec.strides[i], strides[i])) return false;
  }
  return true;
}

bool lies_in_format(const TensorSpec& spec, std::string_view format) {
  const MemoryFormatRow* row = find_format(format);
  if (row == nullptr) return false;
  if (row->rank == 0) return spec.is_contiguous();
  return row->rank == spec.rank() && lies_as(spec, channels_last_strides(spec.sizes));
}

bool has_channels_last(const TensorSpec& spec) {
  return spec.rank() >= 3 && lies_as(spec, channels_last_strides(spec.sizes));
}

const MemoryFormatRow* memory_format_arg(const OpCall& call) {
  int param = call.row.schema.find("memory_format");
  if (param < 0 || param >= static_cast<int>(call.args.size()) || arg_is_none(call, param)) return nullptr;
  const auto& name = arg_as<std::string>(call, param);
  const MemoryFormatRow* format = find_format(name);
  if (format == nullptr) {
    raise(ErrorKind::Type, python_name(call.row), "(): argument 'memory_format' must be memory_format, not '", name,
          "'");
  }
  return format;
}

DimVec strides_in_format(const OpCall& call, const DimVec& sizes, DimVec preserved) {
  const MemoryFormatRow* format = memory_format_arg(call);
  if (format == nullptr || format->name == "preserve_format") return preserved;
  if (format->rank == 0) return TensorSpec::contiguous(DType::float32, sizes).strides;
  if (format->rank != sizes.size()) {
    raise_op(ErrorKind::Runtime, call.row.name, "required rank ", format->rank, " tensor to use ",
             std::string(format->name), " format", operand_shapes(call));
  }
  return channels_last_strides(sizes);
}

}  // namespace md
