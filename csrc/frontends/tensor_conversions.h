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
  DType dtype;
  bool copy = false;
  std::string_view memory_format = {};  // empty: the tensor's own
};

// x.float(), x.cpu() ...: the dtype implied by the method's name; nullopt if it keeps the dtype.
struct ConversionMethod {
  const char* name;
  std::optional<DType> dtype;
};
std::span<const ConversionMethod> conversion_methods();
// Sets the format from a value: a memory format, or None. Throws Error(Type) for others.
void set_memory_format(Conversion& conversion, const char* method, BorrowedRef value);
const ConversionMethod* find_conversion_method(std::string_view name);

// x.to(dtype), x.to(device), x.to(device, dtype), x.to(other); non_blocking, copy and memory_format as in torch. args:
// the positional values without self, then the keyword values.
Conversion parse_to_call(const TensorSpec& spec, std::span<PyObject* const> args, PyObject* kw_names);

}  // namespace md
