// Attributes and methods of a tensor that follow from its spec alone: shape, dtype, ndim, size(),
// dim(), numel(), is_contiguous() ... One table serves the bindings (getters, methods) and capture
// (constants under the tensor's guard).
#pragma once
#include <span>
#include <string_view>

#include "cpython/ref.h"
#include "tensor/ops/op_row.h"

namespace md {

struct TensorFact {
  const char* name;
  bool is_method;
  // What it is of symbolic sizes.
  enum class Sizes : uint8_t { Nothing, Count, Bytes, All } sizes;
  // args without self; throws Error for invalid ones. Dims must be concrete.
  Ref (*value)(const TensorSpec& spec, std::span<PyObject* const> args, PyObject* kw_names);
  const char* doc;
};
std::span<const TensorFact> tensor_facts();
const TensorFact* find_tensor_fact(std::string_view name);

// Attributes that are an op without arguments: T, mT, H, mH, data.
struct ViewAttribute {
  std::string_view name;
  const char* op;
};
std::span<const ViewAttribute> view_attributes();
const OpRow* find_tensor_view_attribute(std::string_view name);

}  // namespace md
