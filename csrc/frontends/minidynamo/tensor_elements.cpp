#include "frontends/minidynamo/tensor_elements.h"

#include <limits>
#include <type_traits>

#include "base/error.h"
#include "cpython/complex_number.h"
#include "tensor/fill.h"
#include "tensor/numeric_cast.h"

namespace md {
namespace {

template <typename T>
constexpr bool kIsHalf = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

template <typename T>
Ref to_python(const void* element) {
  const T value = *static_cast<const T*>(element);
  if constexpr (std::is_same_v<T, bool>) {
    return Ref::share(value ? Py_True : Py_False);
  } else if constexpr (kIsHalf<T>) {
    return check(PyFloat_FromDouble(value.to_float()));
  } else if constexpr (is_complex_type<T>) {
    return check(PyComplex_FromDoubles(value.re, value.im));
  } else if constexpr (std::is_floating_point_v<T>) {
    return check(PyFloat_FromDouble(value));
  } else if constexpr (std::is_same_v<T, uint64_t>) {
    return check(PyLong_FromUnsignedLongLong(value));
  } else {
    return check(PyLong_FromLongLong(value));
  }
}

double to_double(BorrowedRef value) {
  double number = PyFloat_AsDouble(value);
  if (number == -1.0 && PyErr_Occurred()) throw PythonError();
  return number;
}

// Integers unchanged; anything else is converted through float and truncated, as in torch.
Ref to_integer(BorrowedRef value) {
  if (PyIndex_Check(value.get())) return check(PyNumber_Index(value));
  Ref as_float = check(PyNumber_Float(value));
  return check(PyNumber_Long(as_float));
}

int64_t to_int64(BorrowedRef value) {
  Ref number = to_integer(value);
  int overflow = 0;
  long long result = PyLong_AsLongLongAndOverflow(number, &overflow);
  if (overflow != 0) raise(ErrorKind::Value, "Overflow when unpacking long long");
  if (result == -1 && PyErr_Occurred()) throw PythonError();
  return result;
}

// As torch: a negative number is refused, though other unsigned dtypes take it.
uint64_t to_uint64(BorrowedRef value) {
  uint64_t number = PyLong_AsUnsignedLongLong(to_integer(value));
  if (number == static_cast<uint64_t>(-1) && PyErr_Occurred()) throw PythonError();
  return number;
}

template <typename T, DType dtype>
void from_python(void* element, BorrowedRef value) {
  T& out = *static_cast<T*>(element);
  if constexpr (std::is_same_v<T, bool>) {
    int truth = PyObject_IsTrue(value);
    check_status(truth);
    out = truth != 0;
  } else if constexpr (kIsHalf<T>) {
    out = T::from_float(static_cast<float>(to_double(value)));
  } else if constexpr (is_complex_type<T>) {
    Py_complex number = complex_of(value);
    out = {static_cast<decltype(T::re)>(number.real), static_cast<decltype(T::re)>(number.imag)};
  } else if constexpr (std::is_floating_point_v<T>) {
    out = static_cast<T>(to_double(value));
  } else if constexpr (std::is_same_v<T, uint64_t>) {
    out = to_uint64(value);
  } else {
    Scalar number = PyFloat_Check(value.get()) ? Scalar(PyFloat_AS_DOUBLE(value.get())) : Scalar(to_int64(value));
    if (!fits(dtype, number)) {
      raise(ErrorKind::Runtime, "value ", number.str(), " cannot be converted to type ", row(dtype).name,
            " without overflow");
    }
    store_scalar(dtype, number, &out);
  }
}

struct ElementRow {
  Ref (*to_python)(const void*);
  void (*from_python)(void*, BorrowedRef);
};
constexpr ElementRow kElements[] = {
#define MD_DTYPE(name, ctype, ...) {to_python<ctype>, from_python<ctype, DType::name>},
#include "tensor/dtypes.def"
#undef MD_DTYPE
};
const ElementRow& element_row(DType dtype) { return kElements[static_cast<int>(dtype)]; }

Ref nested_list(const Tensor& tensor, const char* data, int dim) {
  if (dim == tensor->rank()) return element_to_python(tensor->dtype(), data);
  int64_t size = tensor->sizes()[dim];
  int64_t step = tensor->strides()[dim] * static_cast<int64_t>(item_size(tensor->dtype()));
  Ref list = check(PyList_New(size));
  for (int64_t i = 0; i < size; ++i) {
    PyList_SET_ITEM(list.get(), i, nested_list(tensor, data + i * step, dim + 1).release());
  }
  return list;
}

}  // namespace

Ref element_to_python(DType dtype, const void* element) { return element_row(dtype).to_python(element); }
void element_from_python(DType dtype, void* element, BorrowedRef value) {
  element_row(dtype).from_python(element, value);
}

void require_data(const Tensor& tensor, const char* what) {
  if (tensor->kind() != TensorKind::Real) {
    raise_op(ErrorKind::Runtime, what, "the values of a tensor are not known while it is traced");
  }
}

Ref tensor_to_list(const Tensor& tensor) {
  require_data(tensor, "tolist");
  return nested_list(tensor, static_cast<const char*>(tensor->data()), 0);
}

Ref tensor_to_number(const Tensor& tensor, const char* what) {
  require_data(tensor, what);
  if (tensor->numel() != 1) {
    raise(ErrorKind::Runtime, "a Tensor with ", tensor->numel(), " elements cannot be converted to Scalar");
  }
  return element_to_python(tensor->dtype(), tensor->data());
}

}  // namespace md
