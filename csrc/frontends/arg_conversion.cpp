// Converts Python objects to an op's arguments and back.
#include <optional>
#include <string>

#include "base/error.h"
#include "cpython/complex_number.h"
#include "frontends/arg_binding.h"
#include "frontends/device_object.h"
#include "frontends/dtype_object.h"
#include "frontends/foreign_tensors.h"
#include "frontends/memory_format_object.h"
#include "frontends/size_object.h"
#include "guards/tensor_family.h"

namespace md {
namespace {

const char* type_words(ParamType type) {
  switch (type) {
    case ParamType::Tensor:
      return "Tensor";
    case ParamType::TensorList:
      return "tuple of Tensors";
    case ParamType::Scalar:
      return "Number";
    case ParamType::Number:
      return "Tensor or Number";
    case ParamType::Int:
      return "int";
    case ParamType::IntList:
      return "tuple of ints";
    case ParamType::Float:
      return "float";
    case ParamType::Bool:
      return "bool";
    case ParamType::Dtype:
      return "minidynamo.dtype";
    case ParamType::Str:
      return "str";
    case ParamType::Device:
      return "device or str";
    case ParamType::MemoryFormat:
      return "minidynamo.memory_format";
    case ParamType::Any:
      return "a value that an op can take";
  }
  return "";
}

// The name of an argument in messages, built only when needed.
struct ArgName {
  const OpRow& row;
  const Param& param;
  std::string str() const { return str_cat(python_name(row), "(): argument '", param.name, "'"); }
};

[[noreturn]] void raise_wrong_type(const ArgName& name, const std::string& found) {
  raise(ErrorKind::Type, name.str(), " must be ", type_words(name.param.type), ", not ", found);
}
[[noreturn]] void raise_wrong_type(const ArgName& name, BorrowedRef value) {
  if (is_foreign_tensor(value)) raise_foreign_tensor(std::string(python_name(name.row)), value);
  raise_wrong_type(name, std::string(value.type()->tp_name));
}

// By exact type, or else by the nearest base that is a tensor type: subclasses share their base's layout.
Tensor find_tensor(BorrowedRef value) {
  for (PyTypeObject* type = value.type(); type != nullptr; type = type->tp_base)
    if (const TensorFamily* family = find_family(type); family == &default_family()) return hold(*family, value);
  return {};
}

bool is_sequence(BorrowedRef value) { return is_list_argument(value.type()); }

bool is_tensor_list(BorrowedRef sequence) {
  return PySequence_Fast_GET_SIZE(sequence.get()) > 0 &&
         find_tensor(PySequence_Fast_GET_ITEM(sequence.get(), 0)).defined();
}

// For an int of more than 64 bits; the classes are torch's.
ErrorKind overflow_kind(const Param& param, bool is_element) {
  if (param.type == ParamType::IntList) return is_element || param.variadic_ints ? ErrorKind::Type : ErrorKind::Value;
  return param.type == ParamType::Int ? ErrorKind::Value : ErrorKind::Overflow;
}

int64_t int64_from_python(const ArgName& name, BorrowedRef value, bool is_element = false) {
  int overflow = 0;
  long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
  if (number == -1 && overflow == 0 && PyErr_Occurred()) throw PythonError();
  if (overflow != 0) {
    raise(overflow_kind(name.param, is_element), name.str(), " is an int too big to convert: it has more than 64 bits");
  }
  return number;
}

// An object with __index__ or __float__ that is no built-in number: NumPy's scalars.
std::optional<Scalar> number_like(const ArgName& name, BorrowedRef value) {
  PyNumberMethods* methods = value.type()->tp_as_number;
  if (methods == nullptr) return std::nullopt;
  if (methods->nb_index != nullptr) return Scalar(int64_from_python(name, check(PyNumber_Index(value))));
  if (methods->nb_float == nullptr || PySequence_Check(value)) return std::nullopt;
  double number = PyFloat_AsDouble(value);
  if (number == -1.0 && PyErr_Occurred()) throw PythonError();
  return Scalar(number);
}

std::optional<Scalar> scalar_from_python(const ArgName& name, BorrowedRef value) {
  if (PyFloat_Check(value.get())) return Scalar(PyFloat_AS_DOUBLE(value.get()));
  if (PyBool_Check(value.get())) return Scalar(value.get() == Py_True);
  if (PyLong_Check(value.get())) return Scalar(int64_from_python(name, value));
  if (PyComplex_Check(value.get())) return std::nullopt;
  return number_like(name, value);
}

// Whether a tensor stands for the number that it holds.
bool is_number(const Tensor& tensor, bool is_whole) {
  if (tensor->rank() != 0 || is_complex(tensor->dtype())) return false;
  return !is_whole || (!is_floating(tensor->dtype()) && tensor->dtype() != DType::bool_);
}

std::optional<int64_t> index_from_python(const ArgName& name, BorrowedRef value, bool is_element = false) {
  if (PyBool_Check(value.get())) return std::nullopt;
  if (PyLong_Check(value.get())) return int64_from_python(name, value, is_element);
  if (Tensor tensor = find_tensor(value); tensor.defined() && !is_number(tensor, true)) return std::nullopt;
  if (!PyIndex_Check(value.get())) return std::nullopt;
  return int64_from_python(name, check(PyNumber_Index(value)), is_element);
}

Arg tensor_arg(const ArgName& name, BorrowedRef value) {
  if (Tensor tensor = find_tensor(value); tensor.defined()) return tensor;
  raise_wrong_type(name, value);
}

Arg tensor_list_arg(const ArgName& name, BorrowedRef value) {
  if (!is_sequence(value)) raise_wrong_type(name, value);
  std::vector<Tensor> tensors;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value.get()); ++i) {
    BorrowedRef item = PySequence_Fast_GET_ITEM(value.get(), i);
    Tensor tensor = find_tensor(item);
    if (!tensor.defined()) {
      if (is_foreign_tensor(item)) raise_wrong_type(name, item);
      raise(ErrorKind::Type, name.str(), " must be tuple of Tensors, but element ", i, " is ", item.type()->tp_name);
    }
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

Arg scalar_arg(const ArgName& name, BorrowedRef value) {
  if (Tensor tensor = find_tensor(value); tensor.defined()) {
    if (is_number(tensor, false)) return *scalar_from_python(name, check(PyObject_CallMethod(value, "item", nullptr)));
  } else if (!is_foreign_tensor(value)) {
    if (std::optional<Scalar> scalar = scalar_from_python(name, value)) return *scalar;
  }
  raise_wrong_type(name, value);
}

// In the widest dtype: what it promotes to follows from the other arguments.
Tensor complex_tensor(BorrowedRef value) {
  Py_complex number = complex_of(value);
  Tensor tensor = Tensor::empty(DType::complex128, {});
  *tensor.data<Complex<double>>() = {number.real, number.imag};
  return tensor;
}

Arg number_arg(const ArgName& name, BorrowedRef value) {
  if (PyComplex_Check(value.get()) && takes_complex_number(name.row, name.param)) return complex_tensor(value);
  if (Tensor tensor = find_tensor(value); tensor.defined()) return tensor;
  return scalar_arg(name, value);
}

Arg int_arg(const ArgName& name, BorrowedRef value) {
  std::optional<int64_t> number = index_from_python(name, value);
  if (!number) raise_wrong_type(name, value);
  return Scalar(*number);
}

// Dims may be a single number; sizes only if they may also be passed as separate arguments.
bool takes_one_number(const Param& param) {
  return param.variadic_ints || (param.name != "size" && param.name != "stride" && param.name != "normalized_shape");
}

Arg int_list_arg(const ArgName& name, BorrowedRef value) {
  DimVec dims;
  if (!is_sequence(value)) {
    if (!takes_one_number(name.param)) raise_wrong_type(name, value);
    std::optional<int64_t> number = index_from_python(name, value);
    if (!number) raise_wrong_type(name, value);
    dims.push_back(*number);
    return dims;
  }
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value.get()); ++i) {
    BorrowedRef item = PySequence_Fast_GET_ITEM(value.get(), i);
    std::optional<int64_t> number = index_from_python(name, item, true);
    if (!number) {
      raise(ErrorKind::Type, name.str(), " must be tuple of ints, but element ", i, " is ", item.type()->tp_name);
    }
    dims.push_back(*number);
  }
  return dims;
}

Arg float_arg(const ArgName& name, BorrowedRef value) {
  Arg number = scalar_arg(name, value);
  const Scalar& scalar = std::get<Scalar>(number);
  if (scalar.kind() == Scalar::Kind::Bool) raise_wrong_type(name, value);
  return Scalar(scalar.as_double());
}

Arg bool_arg(const ArgName& name, BorrowedRef value) {
  if (PyBool_Check(value.get())) return Scalar(value.get() == Py_True);
  raise_wrong_type(name, value);
}

Arg dtype_arg(const ArgName& name, BorrowedRef value) {
  if (std::optional<DType> dtype = dtype_from_python(value)) return *dtype;
  raise_wrong_type(name, value);
}

Arg str_arg(const ArgName& name, BorrowedRef value) {
  if (!PyUnicode_Check(value.get())) raise_wrong_type(name, value);
  Py_ssize_t length = 0;
  const char* chars = PyUnicode_AsUTF8AndSize(value, &length);
  if (chars == nullptr) throw PythonError();
  return std::string(chars, static_cast<size_t>(length));
}

Arg memory_format_arg(const ArgName& name, BorrowedRef value) {
  std::string_view format = memory_format_name(value);
  if (format.empty()) raise_wrong_type(name, value);
  return std::string(format);
}

Arg any_sequence_arg(const ArgName& name, BorrowedRef value) {
  return is_tensor_list(value) ? tensor_list_arg(name, value) : int_list_arg(name, value);
}

Arg any_arg(const ArgName& name, BorrowedRef value) {
  if (value.get() == Py_None) return std::monostate{};
  if (Tensor tensor = find_tensor(value); tensor.defined()) return tensor;
  if (PyUnicode_Check(value.get())) return str_arg(name, value);
  if (is_sequence(value)) return any_sequence_arg(name, value);
  if (value.type() == dtype_type()) return dtype_arg(name, value);
  return scalar_arg(name, value);
}

template <typename Items, typename Make>
Ref list_of(const Items& items, Make make) {
  Ref list = check(PyList_New(0));
  for (const auto& item : items) check_status(PyList_Append(list, make(item)));
  return list;
}

Ref scalar_to_python(const Scalar& scalar) {
  switch (scalar.kind()) {
    case Scalar::Kind::Bool:
      return check(PyBool_FromLong(scalar.as_int() != 0));
    case Scalar::Kind::Int:
      return check(scalar.is_large() ? PyLong_FromUnsignedLongLong(static_cast<uint64_t>(scalar.as_int()))
                                     : PyLong_FromLongLong(scalar.as_int()));
    case Scalar::Kind::Float:
      break;
  }
  return check(PyFloat_FromDouble(scalar.as_double()));
}

struct ToPython {
  Ref operator()(std::monostate) const { return Ref::share(Py_None); }
  Ref operator()(const Tensor& tensor) const { return default_family().wrap(tensor); }
  Ref operator()(const std::vector<Tensor>& tensors) const { return list_of(tensors, *this); }
  Ref operator()(const Scalar& scalar) const { return scalar_to_python(scalar); }
  Ref operator()(const DimVec& dims) const { return check(PySequence_Tuple(size_from_dims(dims.span()))); }
  Ref operator()(DType dtype) const { return Ref::share(dtype_to_python(dtype)); }
  Ref operator()(const std::string& text) const {
    return check(PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size())));
  }
};

}  // namespace

ValueForm value_form(BorrowedRef value) {
  if (find_tensor(value).defined()) return ValueForm::Tensor;
  if (PyBool_Check(value.get())) return ValueForm::Bool;
  if (PyLong_Check(value.get())) return ValueForm::Int;
  if (PyFloat_Check(value.get())) return ValueForm::Float;
  if (PyComplex_Check(value.get())) return ValueForm::Complex;
  if (value.get() == Py_None) return ValueForm::None;
  if (PyUnicode_Check(value.get())) return ValueForm::Str;
  if (is_sequence(value)) return is_tensor_list(value) ? ValueForm::TensorList : ValueForm::IntList;
  if (value.type() == device_type()) return ValueForm::Device;
  if (value.type() == memory_format_type()) return ValueForm::MemoryFormat;
  if (dtype_from_python(value)) return ValueForm::Dtype;
  if (is_foreign_tensor(value)) return ValueForm::Other;
  if (PyIndex_Check(value.get())) return ValueForm::Int;
  PyNumberMethods* methods = value.type()->tp_as_number;
  return methods != nullptr && methods->nb_float != nullptr ? ValueForm::Float : ValueForm::Other;
}

Arg arg_from_python(const OpRow& row, const Param& param, BorrowedRef value) {
  ArgName name{row, param};
  if (value.get() == Py_None) {
    bool allowed = param.optional || param.type == ParamType::Any || param.type == ParamType::Device;
    if (!allowed) raise_wrong_type(name, std::string("None"));
    return param.type == ParamType::Device ? Arg(std::string("cpu")) : Arg(std::monostate{});
  }
  switch (param.type) {
    case ParamType::Tensor:
      return tensor_arg(name, value);
    case ParamType::TensorList:
      return tensor_list_arg(name, value);
    case ParamType::Scalar:
      return scalar_arg(name, value);
    case ParamType::Number:
      return number_arg(name, value);
    case ParamType::Int:
      return int_arg(name, value);
    case ParamType::IntList:
      return int_list_arg(name, value);
    case ParamType::Float:
      return float_arg(name, value);
    case ParamType::Bool:
      return bool_arg(name, value);
    case ParamType::Dtype:
      return dtype_arg(name, value);
    case ParamType::Str:
      return str_arg(name, value);
    case ParamType::Device:
      return device_from_python(value, name.str());
    case ParamType::MemoryFormat:
      return memory_format_arg(name, value);
    case ParamType::Any:
      return any_arg(name, value);
  }
  raise_wrong_type(name, value);
}

Ref arg_to_python(const Arg& arg) { return std::visit(ToPython{}, arg); }

}  // namespace md
