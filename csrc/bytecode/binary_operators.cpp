#include "bytecode/binary_operators.h"

namespace md {

namespace {

// `**` without the modulus of pow().
PyObject* number_Power(PyObject* base, PyObject* exponent) { return PyNumber_Power(base, exponent, Py_None); }
PyObject* number_InPlacePower(PyObject* base, PyObject* exponent) {
  return PyNumber_InPlacePower(base, exponent, Py_None);
}

binaryfunc two_operands(binaryfunc function, binaryfunc) { return function; }
binaryfunc two_operands(ternaryfunc, binaryfunc power) { return power; }

const BinaryOperator kRows[] = {
#define MD_BINARY_OPERATOR(name, sign, sign_in_errors, stem, slot, op) \
  {BinaryCode::name,                                                   \
   sign,                                                               \
   sign_in_errors,                                                     \
   sign "=",                                                           \
   "__" stem "__",                                                     \
   "__r" stem "__",                                                    \
   "__i" stem "__",                                                    \
   op,                                                                 \
   two_operands(&PyNumber_##name, number_Power),                       \
   two_operands(&PyNumber_InPlace##name, number_InPlacePower)},
#include "base/binary_operators.def"
#undef MD_BINARY_OPERATOR
};

}  // namespace

const BinaryOperator& binary_operator(BinaryCode code) { return kRows[static_cast<int>(code)]; }

bool has_in_place_form(PyTypeObject* type, BinaryCode code) {
  const PyNumberMethods* slots = type->tp_as_number;
  if (slots == nullptr) return false;
  switch (code) {
#define MD_BINARY_OPERATOR(name, sign, sign_in_errors, stem, slot, op) \
  case BinaryCode::name:                                               \
    return slots->nb_inplace_##slot != nullptr;
#include "base/binary_operators.def"
#undef MD_BINARY_OPERATOR
    case BinaryCode::Count:
      break;
  }
  return false;
}

}  // namespace md
