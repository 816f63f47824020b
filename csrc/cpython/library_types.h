// C types of the standard library that the C API does not name. They are never freed.
#pragma once
#include "cpython/imports.h"

namespace md {

inline PyTypeObject* deque_type() {
  static PyObject* const type = imported("_collections", "deque").release();
  return reinterpret_cast<PyTypeObject*>(type);
}

inline PyTypeObject* thread_local_type() {
  static PyObject* const type = imported("_thread", "_local").release();
  return reinterpret_cast<PyTypeObject*>(type);
}

inline PyTypeObject* simple_namespace_type() {
  static PyObject* const type = imported("types", "SimpleNamespace").release();
  return reinterpret_cast<PyTypeObject*>(type);
}

// int | str
inline PyTypeObject* union_type() {
  static PyObject* const type = imported("types", "UnionType").release();
  return reinterpret_cast<PyTypeObject*>(type);
}

// Type of the immutable descriptor of a namedtuple field; its __reduce__ returns the field's index as (i, doc).
inline PyTypeObject* tuple_field_type() {
  static PyObject* const type = imported("_collections", "_tuplegetter").release();
  return reinterpret_cast<PyTypeObject*>(type);
}

}  // namespace md
