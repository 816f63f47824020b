// What a weak reference refers to.
#pragma once
#include "cpython/ref.h"

namespace md {

// Borrowed; None where it is gone, or about to be: while an object waits for its deallocation its references are not cleared.
inline PyObject* referent_of(PyObject* weak_reference) {
  PyObject* object = reinterpret_cast<PyWeakReference*>(weak_reference)->wr_object;
  return Py_REFCNT(object) > 0 ? object : Py_None;
}

}  // namespace md
