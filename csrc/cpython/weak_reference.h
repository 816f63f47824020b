// What a weak reference refers to.
#pragma once
#include "cpython/ref.h"

namespace md {

// Borrowed; None if the referent is dead or dying: weak references of an object awaiting
// deallocation are not cleared yet.
inline PyObject* referent_of(PyObject* weak_reference) {
  PyObject* object = reinterpret_cast<PyWeakReference*>(weak_reference)->wr_object;
  return Py_REFCNT(object) > 0 ? object : Py_None;
}

// Whether a callback runs when the object dies. Since 3.12 the list may be stored before
// the object, at a negative offset.
inline bool has_death_callback(PyObject* object) {
  Py_ssize_t offset = Py_TYPE(object)->tp_weaklistoffset;
  // The weak reference lists of static types belong to the interpreter, and these types never die.
  bool is_static =
      PyType_Check(object) && !PyType_HasFeature(reinterpret_cast<PyTypeObject*>(object), Py_TPFLAGS_HEAPTYPE);
  if (offset == 0 || is_static) return false;
  char* place = reinterpret_cast<char*>(object) + offset;
  for (auto* each = *reinterpret_cast<PyWeakReference**>(place); each != nullptr; each = each->wr_next)
    if (each->wr_callback != nullptr) return true;
  return false;
}

}  // namespace md
