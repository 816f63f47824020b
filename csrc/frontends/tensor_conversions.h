// Methods that return the tensor in another dtype: to, float, double, long ... One parse
// for eager calls and for capture.
#pragma once
#include <optional>
#include <span>
#include <string_view>

#include "cpython/ref.h"
#include "tensor/tensor.h"

namespace md {

// A requested conversion. With the same dtype and no copy it returns the same tensor object.
struct Conversion {
  DType dtype = DType::float32;
  bool copy = false;
  std::string_view memory_format = {};  // empty: the tensor's own
};

// A method that converts: x.to(...), x.type_as(y), or x.float(), x.cpu() ..., whose name implies the dtype (nullopt:
// that of x).
struct ConversionMethod {
  enum class Form : uint8_t { Named, To, TypeAs };
  const char* name;
  Form form;
  std::optional<DType> dtype;
};
std::span<const ConversionMethod> conversion_methods();
// Those whose name implies the dtype.
std::span<const ConversionMethod> named_conversions();
// Sets the format from a value: a memory format, or None. Throws Error(Type) for others.
void set_memory_format(Conversion& conversion, const char* method, BorrowedRef value);

// x.to(dtype), x.to(device), x.to(device, dtype), x.to(other); non_blocking, copy and memory_format as in torch. args:
// the positional values without self, then the keyword values.
Conversion parse_to_call(const TensorSpec& spec, std::span<PyObject* const> args, PyObject* kw_names);

}  // namespace md
