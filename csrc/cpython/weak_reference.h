// What a weak reference refers to.
#pragma once
#include "cpython/ref.h"

namespace md {

// Borrowed; None where it is gone, or about to be: while an object waits for its deallocation its references are not cleared.
inline PyObject* referent_of(PyObject* weak_reference) {
  PyObject* object = reinterpret_cast<PyWeakReference*>(weak_reference)->wr_object;
  return Py_REFCNT(object) > 0 ? object : Py_None;
}

// Something is called when the object dies.
inline bool has_death_callback(PyObject* object) {
  if (!PyType_SUPPORTS_WEAKREFS(Py_TYPE(object)) || Py_TYPE(object)->tp_weaklistoffset <= 0) return false;
  char* place = reinterpret_cast<char*>(object) + Py_TYPE(object)->tp_weaklistoffset;
  for (auto* each = *reinterpret_cast<PyWeakReference**>(place); each != nullptr; each = each->wr_next)
    if (each->wr_callback != nullptr) return true;
  return false;
}

}  // namespace md
