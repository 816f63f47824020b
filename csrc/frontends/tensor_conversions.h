// Methods that give the tensor in another dtype: to, float, double, long ... One parse for eager calls and for capture.
#pragma once
#include <optional>
#include <span>
#include <string_view>

#include "cpython/ref.h"
#include "tensor/tensor.h"

namespace md {

// What a conversion asks for. The same dtype without copy gives the very same tensor back.
struct Conversion {
  DType dtype;
  bool copy = false;
  std::string_view memory_format = {};  // empty: as the tensor lies
};

// x.float(), x.cpu() ...: the dtype that the method's name means; nullopt in `dtype` for those that keep it.
struct ConversionMethod {
  const char* name;
  std::optional<DType> dtype;
};
std::span<const ConversionMethod> conversion_methods();
// Sets the format that a value names: a memory format, or None. Throws Error(Type) for others.
void set_memory_format(Conversion& conversion, const char* method, BorrowedRef value);
const ConversionMethod* find_conversion_method(std::string_view name);

// x.to(dtype), x.to(device), x.to(device, dtype), x.to(other); non_blocking, copy and memory_format as torch has them.
// args are the positional values without self, then one for each keyword.
Conversion parse_to_call(const TensorSpec& spec, std::span<PyObject* const> args, PyObject* kw_names);

}  // namespace md
