// What a weak reference refers to.
#pragma once
#include "cpython/ref.h"

namespace md {

// Borrowed; None where it is gone, or about to be: while an object waits for its deallocation its references are not cleared.
inline PyObject* referent_of(PyObject* weak_reference) {
  PyObject* object = reinterpret_cast<PyWeakReference*>(weak_reference)->wr_object;
  return Py_REFCNT(object) > 0 ? object : Py_None;
}

// Something is called when the object dies. From 3.12 on the list may stand before the object: at a negative offset.
inline bool has_death_callback(PyObject* object) {
  Py_ssize_t offset = Py_TYPE(object)->tp_weaklistoffset;
  // Lists of static types are the interpreter's, and these never die.
  bool is_static =
      PyType_Check(object) && !PyType_HasFeature(reinterpret_cast<PyTypeObject*>(object), Py_TPFLAGS_HEAPTYPE);
  if (offset == 0 || is_static) return false;
  char* place = reinterpret_cast<char*>(object) + offset;
  for (auto* each = *reinterpret_cast<PyWeakReference**>(place); each != nullptr; each = each->wr_next)
    if (each->wr_callback != nullptr) return true;
  return false;
}

}  // namespace md
