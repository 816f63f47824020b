#include "frontends/tensor_conversions.h"

#include <algorithm>
#include <string>

#include "base/error.h"
#include "cpython/text.h"
#include "frontends/device_object.h"
#include "frontends/dtype_object.h"
#include "frontends/foreign_tensors.h"
#include "frontends/memory_format_object.h"
#include "guards/tensor_family.h"

namespace md {
namespace {

using Form = ConversionMethod::Form;
constexpr ConversionMethod kMethods[] = {
    {"bool", Form::Named, DType::bool_},     {"byte", Form::Named, DType::uint8},
    {"char", Form::Named, DType::int8},      {"short", Form::Named, DType::int16},
    {"int", Form::Named, DType::int32},      {"long", Form::Named, DType::int64},
    {"half", Form::Named, DType::float16},   {"bfloat16", Form::Named, DType::bfloat16},
    {"float", Form::Named, DType::float32},  {"double", Form::Named, DType::float64},
    {"cpu", Form::Named, std::nullopt},      {"to", Form::To, std::nullopt},
    {"type_as", Form::TypeAs, std::nullopt},
};
constexpr size_t kNamed = std::ranges::count(kMethods, Form::Named, &ConversionMethod::form);

[[noreturn]] void raise_bad(const char* what, BorrowedRef value) {
  if (is_foreign_tensor(value)) raise_foreign_tensor("to", value);
  raise(ErrorKind::Type, "to() received an invalid combination of arguments: ", what, " is ", value.type()->tp_name);
}

bool python_bool(const char* name, BorrowedRef value) {
  if (!PyBool_Check(value.get())) {
    raise(ErrorKind::Type, "to(): argument '", name, "' must be bool, not ", value.type()->tp_name);
  }
  return value.get() == Py_True;
}

void set_dtype(Conversion& conversion, BorrowedRef value) {
  if (value.get() == Py_None) return;
  std::optional<DType> dtype = dtype_from_python(value);
  if (!dtype) raise(ErrorKind::Type, "to(): argument 'dtype' must be minidynamo.dtype, not ", value.type()->tp_name);
  conversion.dtype = *dtype;
}

void set_device(BorrowedRef value) { device_from_python(value, "to(): argument 'device'"); }

// The first positional value determines the form. Returns how many positional values belong to it.
size_t read_target(Conversion& conversion, std::span<PyObject* const> positional) {
  if (positional.empty()) return 0;
  BorrowedRef first = positional[0];
  if (Tensor other = own_tensor(first); other.defined()) {
    conversion.dtype = other->dtype();
    return 1;
  }
  if (dtype_from_python(first)) {
    set_dtype(conversion, first);
    return 1;
  }
  bool is_device = first.get() == Py_None || PyUnicode_Check(first.get()) || first.type() == device_type();
  if (!is_device) raise_bad("the first", first);
  set_device(first);
  if (positional.size() == 1 || PyBool_Check(positional[1])) return 1;
  set_dtype(conversion, positional[1]);
  return 2;
}

void read_keyword(Conversion& conversion, BorrowedRef name, BorrowedRef value) {
  std::string key = text_of(name);
  if (key == "dtype") {
    set_dtype(conversion, value);
  } else if (key == "device") {
    set_device(value);
  } else if (key == "copy") {
    conversion.copy = python_bool("copy", value);
  } else if (key == "non_blocking") {
    python_bool("non_blocking", value);
  } else if (key == "memory_format") {
    set_memory_format(conversion, "to", value);
  } else if (key == "other") {
    Tensor other = own_tensor(value);
    if (!other.defined()) raise_bad("'other'", value);
    conversion.dtype = other->dtype();
  } else {
    raise(ErrorKind::Type, "to() got an unexpected keyword argument '", key, "'");
  }
}

}  // namespace

std::span<const ConversionMethod> conversion_methods() { return kMethods; }
std::span<const ConversionMethod> named_conversions() { return conversion_methods().first(kNamed); }

void set_memory_format(Conversion& conversion, const char* method, BorrowedRef value) {
  if (value.get() == Py_None) return;
  std::string_view name = memory_format_name(value);
  if (name.empty()) {
    raise(ErrorKind::Type, method, "(): argument 'memory_format' must be minidynamo.memory_format, not ",
          value.type()->tp_name);
  }
  if (name != "preserve_format") conversion.memory_format = name;
}

Conversion parse_to_call(const TensorSpec& spec, std::span<PyObject* const> args, PyObject* kw_names) {
  size_t keywords = kw_names == nullptr ? 0 : static_cast<size_t>(PyTuple_GET_SIZE(kw_names));
  std::span<PyObject* const> positional = args.first(args.size() - keywords);
  Conversion conversion{.dtype = spec.dtype};
  // After the target: non_blocking, copy.
  size_t at = read_target(conversion, positional);
  if (at < positional.size()) python_bool("non_blocking", positional[at++]);
  if (at < positional.size()) conversion.copy = python_bool("copy", positional[at++]);
  if (at < positional.size()) {
    raise(ErrorKind::Type, "to() takes at most 4 positional arguments (", positional.size(), " given)");
  }
  for (size_t i = 0; i < keywords; ++i) {
    read_keyword(conversion, PyTuple_GET_ITEM(kw_names, static_cast<Py_ssize_t>(i)), args[positional.size() + i]);
  }
  return conversion;
}

}  // namespace md
