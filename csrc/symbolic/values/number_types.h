// The built-in types of numbers.
#pragma once
#include "symbolic/values/value.h"

namespace md {

// int, float and bool themselves, which every tensor family takes beside a tensor.
inline bool is_real_number_type(const PyTypeObject* type) {
  return type == &PyLong_Type || type == &PyFloat_Type || type == &PyBool_Type;
}
inline bool is_real_number(const ValuePtr& value) { return is_real_number_type(type_of(value)); }
// These and complex.
inline bool is_number_type(const PyTypeObject* type) { return is_real_number_type(type) || type == &PyComplex_Type; }
// These and their subclasses, which the operators of numbers take.
inline bool derives_from_number(PyTypeObject* type) {
  return PyType_IsSubtype(type, &PyLong_Type) != 0 || PyType_IsSubtype(type, &PyFloat_Type) != 0 ||
         PyType_IsSubtype(type, &PyComplex_Type) != 0;
}

}  // namespace md
