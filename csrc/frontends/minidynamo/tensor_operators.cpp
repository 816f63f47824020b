// Number, comparison and conversion slots.
#include <algorithm>
#include <utility>

#include "cpython/errors.h"
#include "frontends/minidynamo/op_dispatch.h"
#include "frontends/minidynamo/tensor_elements.h"
#include "frontends/minidynamo/tensor_object.h"
#include "frontends/minidynamo/tensor_slots.h"
#include "frontends/operators.h"

namespace md {
namespace {

PyObject* not_implemented() { return Py_NewRef(Py_NotImplemented); }

// Reflected operators that in torch are functions in Python: they call a function of both operands, whichever is a
// tensor, so that Tensor.__rmod__(2, x) is x % 2. torch's others of that kind fail where the right operand is a number.
constexpr BinaryCode kOpenReflected[] = {BinaryCode::FloorDivide, BinaryCode::Lshift,    BinaryCode::MatrixMultiply,
                                         BinaryCode::Power,       BinaryCode::Remainder, BinaryCode::Rshift};
constexpr bool is_open_reflected(BinaryCode code) {
  return std::ranges::find(kOpenReflected, code) != std::end(kOpenReflected);
}

bool is_tensor(PyObject* object) { return PyObject_TypeCheck(object, &tensor_type) != 0; }

template <BinaryCode kCode>
PyObject* binary(PyObject* a, PyObject* b) {
  static const OpRow* const row = binary_operator_row(binary_operator(kCode));
  if constexpr (is_open_reflected(kCode))
    if (!is_tensor(a) && !is_tensor(b)) return not_implemented();
  return row == nullptr ? not_implemented() : dispatch_operator(*row, a, b);
}

template <BinaryCode kCode>
PyObject* binary_in_place(PyObject* a, PyObject* b) {
  static const OpRow* const row = binary_operator_row(binary_operator(kCode));
  return dispatch_in_place_operator(*row, a, b);
}
bool has_in_place_operator(BinaryCode code) {
  const OpRow* row = binary_operator_row(binary_operator(code));
  return row != nullptr && (row->variants & kInPlace);
}

// The slots of `**` also receive the modulus of pow().
template <BinaryCode kCode>
PyObject* with_modulus(PyObject* a, PyObject* b, PyObject* modulus) {
  return modulus == Py_None ? binary<kCode>(a, b) : not_implemented();
}
template <BinaryCode kCode>
PyObject* with_modulus_in_place(PyObject* a, PyObject* b, PyObject* modulus) {
  return modulus == Py_None ? binary_in_place<kCode>(a, b) : not_implemented();
}

template <BinaryCode kCode>
void fill_slots(binaryfunc& plain, binaryfunc& in_place) {
  plain = binary<kCode>;
  if (has_in_place_operator(kCode)) in_place = binary_in_place<kCode>;
}
template <BinaryCode kCode>
void fill_slots(ternaryfunc& plain, ternaryfunc& in_place) {
  plain = with_modulus<kCode>;
  if (has_in_place_operator(kCode)) in_place = with_modulus_in_place<kCode>;
}

template <char kOp>
PyObject* unary(PyObject* a) {
  static const OpRow* const row = unary_operator_row(kOp);
  if (row == nullptr) return PyErr_Format(PyExc_TypeError, "bad operand type for unary %c: 'Tensor'", kOp);
  return dispatch_operator(*row, a);
}

// If the dtype is not supported, the operator raises another error class than the function bitwise_not.
PyObject* invert(PyObject* a) {
  static const OpRow* const row = unary_operator_row('~');
  if (is_inexact(tensor_of(a)->dtype())) {
    PyErr_SetString(PyExc_TypeError,
                    "[bitwise_not] ~ (operator.invert) is only implemented on integer and Boolean-type tensors");
    return nullptr;
  }
  return dispatch_operator(*row, a);
}

PyObject* absolute(PyObject* a) {
  static const OpRow* const row = find_op("abs");
  return dispatch_operator(*row, a);
}

Ref number_of(PyObject* self, const char* what) { return tensor_to_number(tensor_of(self), what); }

template <typename Convert>
PyObject* convert(PyObject* self, const char* what, Convert convert_number) {
  try {
    require_data(tensor_of(self), what);
    if (tensor_of(self)->numel() != 1) {
      raise(ErrorKind::Value, "only one element tensors can be converted to Python scalars");
    }
    return convert_number(number_of(self, what));
  } catch (...) {
    set_error_from_current_exception();
    return nullptr;
  }
}

// Once in a process.
void warn_of_history(PyObject* self) {
  static bool has_warned = false;
  if (has_warned || !tensor_of(self).requires_grad() || tensor_of(self)->kind() != TensorKind::Real) return;
  has_warned = true;
  check_status(PyErr_WarnEx(PyExc_UserWarning,
                            "Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior.\n"
                            "Consider using tensor.detach() first.",
                            1));
}

PyObject* to_int(PyObject* self) {
  return convert(self, "__int__", [self](const Ref& number) {
    warn_of_history(self);
    return PyNumber_Long(number);
  });
}
PyObject* to_float(PyObject* self) {
  return convert(self, "__float__", [self](const Ref& number) {
    warn_of_history(self);
    return PyNumber_Float(number);
  });
}
PyObject* to_index(PyObject* self) {
  const Tensor& tensor = tensor_of(self);
  if (is_inexact(tensor->dtype()) || tensor->kind() != TensorKind::Real || tensor->numel() != 1) {
    PyErr_SetString(PyExc_TypeError, "only integer tensors of a single element can be converted to an index");
    return nullptr;
  }
  return convert(self, "__index__", [](const Ref& number) { return PyNumber_Index(number); });
}

// torch's messages for the two ways in which a truth value is ambiguous.
int truth(PyObject* self) {
  try {
    const Tensor& tensor = tensor_of(self);
    require_data(tensor, "__bool__");
    if (tensor->numel() != 1) {
      raise(ErrorKind::Runtime, "Boolean value of Tensor with ",
            tensor->numel() == 0 ? "no values" : "more than one value", " is ambiguous");
    }
    return PyObject_IsTrue(number_of(self, "__bool__"));
  } catch (...) {
    set_error_from_current_exception();
    return -1;
  }
}

PyNumberMethods make_number_methods() {
  PyNumberMethods methods{};
#define MD_BINARY_OPERATOR(name, sign, sign_in_errors, stem, slot, op) \
  fill_slots<BinaryCode::name>(methods.nb_##slot, methods.nb_inplace_##slot);
#include "base/binary_operators.def"
#undef MD_BINARY_OPERATOR
  methods.nb_negative = unary<'-'>;
  methods.nb_positive = unary<'+'>;
  methods.nb_invert = invert;
  methods.nb_absolute = absolute;
  methods.nb_bool = truth;
  methods.nb_int = to_int;
  methods.nb_float = to_float;
  methods.nb_index = to_index;
  return methods;
}

template <int kOp>
PyObject* compare(PyObject* a, PyObject* b) {
  static const OpRow* const row = compare_operator_row(kOp);
  return row == nullptr ? not_implemented() : dispatch_operator(*row, a, b);
}

}  // namespace

PyNumberMethods tensor_as_number = make_number_methods();

// The method of a slot takes what is of its class: with `object` in the place of Tensor it takes any right operand, and
// classes that inherit it still have the slot.
void open_reflected_operators(PyTypeObject& type) {
  for (BinaryCode code : kOpenReflected) {
    Ref method = check(PyObject_GetAttrString(reinterpret_cast<PyObject*>(&type), binary_operator(code).reflected));
    check(PyObject_GetAttrString(method, "__qualname__"));  // which the method keeps from here on
    auto* descriptor = reinterpret_cast<PyDescrObject*>(method.get());
    Py_DECREF(std::exchange(descriptor->d_type, &PyBaseObject_Type));
    Py_INCREF(&PyBaseObject_Type);
  }
}

PyObject* tensor_compare(PyObject* a, PyObject* b, int op) {
  switch (op) {
    case Py_LT:
      return compare<Py_LT>(a, b);
    case Py_LE:
      return compare<Py_LE>(a, b);
    case Py_EQ:
      return compare<Py_EQ>(a, b);
    case Py_NE:
      return compare<Py_NE>(a, b);
    case Py_GT:
      return compare<Py_GT>(a, b);
    case Py_GE:
      return compare<Py_GE>(a, b);
    default:
      return not_implemented();
  }
}

}  // namespace md
