// Python's complex numbers.
#pragma once
#include "cpython/ref.h"

namespace md {

// Of a number, or of an object with __complex__, __float__ or __index__. Throws PythonError.
inline Py_complex complex_of(BorrowedRef value) {
  Py_complex number = PyComplex_AsCComplex(value);
  if (number.real == -1.0 && PyErr_Occurred()) throw PythonError();
  return number;
}

}  // namespace md
