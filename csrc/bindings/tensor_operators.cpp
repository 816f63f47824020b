// Number, comparison and conversion slots.
#include "bindings/op_dispatch.h"
#include "bindings/tensor_elements.h"
#include "bindings/tensor_object.h"
#include "bindings/tensor_slots.h"
#include "cpython/errors.h"
#include "frontends/op_callables.h"

namespace md {
namespace {

PyObject* not_implemented() { return Py_NewRef(Py_NotImplemented); }

// NB_* of BINARY_OP, as binary_operator_row takes them.
template <int kNbOp>
PyObject* binary(PyObject* a, PyObject* b) {
  static const OpRow* const row = binary_operator_row(kNbOp);
  return row == nullptr ? not_implemented() : dispatch_operator(*row, a, b);
}

template <int kNbOp>
PyObject* binary_in_place(PyObject* a, PyObject* b) {
  static const OpRow* const row = binary_operator_row(kNbOp);
  bool has_form = row != nullptr && (row->faces & kInPlace);
  return has_form ? dispatch_in_place_operator(*row, a, b) : not_implemented();
}

PyObject* power_in_place(PyObject* a, PyObject* b, PyObject* modulus) {
  if (modulus != Py_None) return not_implemented();
  return binary_in_place<8>(a, b);
}

template <char kOp>
PyObject* unary(PyObject* a) {
  static const OpRow* const row = unary_operator_row(kOp);
  if (row == nullptr) return PyErr_Format(PyExc_TypeError, "bad operand type for unary %c: 'Tensor'", kOp);
  return dispatch_operator(*row, a);
}

// The operator has a class of error of its own where the function bitwise_not lacks code for the dtype.
PyObject* invert(PyObject* a) {
  static const OpRow* const row = unary_operator_row('~');
  if (is_floating(tensor_of(a)->dtype())) {
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

PyObject* power(PyObject* a, PyObject* b, PyObject* modulus) {
  if (modulus != Py_None) return not_implemented();
  return binary<8>(a, b);
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

PyObject* to_int(PyObject* self) {
  return convert(self, "__int__", [](const Ref& number) { return PyNumber_Long(number); });
}
PyObject* to_float(PyObject* self) {
  return convert(self, "__float__", [](const Ref& number) { return PyNumber_Float(number); });
}
PyObject* to_index(PyObject* self) {
  const Tensor& tensor = tensor_of(self);
  if (is_floating(tensor->dtype()) || tensor->kind() != TensorKind::Real || tensor->numel() != 1) {
    PyErr_SetString(PyExc_TypeError, "only integer tensors of a single element can be converted to an index");
    return nullptr;
  }
  return convert(self, "__index__", [](const Ref& number) { return PyNumber_Index(number); });
}

// torch's words for the two ways in which a truth value is ambiguous.
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
  methods.nb_add = binary<0>;
  methods.nb_and = binary<1>;
  methods.nb_floor_divide = binary<2>;
  methods.nb_lshift = binary<3>;
  methods.nb_matrix_multiply = binary<4>;
  methods.nb_multiply = binary<5>;
  methods.nb_remainder = binary<6>;
  methods.nb_or = binary<7>;
  methods.nb_power = power;
  methods.nb_rshift = binary<9>;
  methods.nb_subtract = binary<10>;
  methods.nb_true_divide = binary<11>;
  methods.nb_xor = binary<12>;
  methods.nb_inplace_add = binary_in_place<0>;
  methods.nb_inplace_and = binary_in_place<1>;
  methods.nb_inplace_floor_divide = binary_in_place<2>;
  methods.nb_inplace_lshift = binary_in_place<3>;
  methods.nb_inplace_multiply = binary_in_place<5>;
  methods.nb_inplace_remainder = binary_in_place<6>;
  methods.nb_inplace_or = binary_in_place<7>;
  methods.nb_inplace_rshift = binary_in_place<9>;
  methods.nb_inplace_subtract = binary_in_place<10>;
  methods.nb_inplace_true_divide = binary_in_place<11>;
  methods.nb_inplace_xor = binary_in_place<12>;
  methods.nb_inplace_power = power_in_place;
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
  }
  return not_implemented();
}

}  // namespace md
