#include "guards/weak_keys.h"

#include "cpython/dict_probe.h"
#include "cpython/weak_reference.h"
#include "guards/cached_calls.h"
#include "guards/constants.h"

namespace md {

namespace {

bool compares_as_weakref(PyObject* object) {
  return PyWeakref_CheckRef(object) && Py_TYPE(object)->tp_richcompare == _PyWeakref_RefType.tp_richcompare &&
         Py_TYPE(object)->tp_hash == _PyWeakref_RefType.tp_hash;
}

int weak_key_equal(PyObject* stored, PyObject* reference) {
  if (!compares_as_weakref(stored)) return constant_key_equal(stored, reference);
  PyObject* held = referent_of(stored);
  if (held == Py_None) return 0;
  if (held == referent_of(reference)) return 1;
  return is_equal_to_itself_alone(held) ? 0 : -1;
}

}  // namespace

bool is_plain_weak_key(PyObject* object) {
  if (!compares_as_weakref(object)) return false;
  PyObject* referent = referent_of(object);
  return referent != Py_None && is_equal_to_itself_alone(referent);
}

int lookup_weak_key(PyObject* dict, PyObject* reference, PyObject** value) {
  *value = nullptr;
  Py_hash_t hash = is_plain_weak_key(reference) ? PyObject_Hash(reference) : -1;
  if (hash == -1) {
    PyErr_Clear();
    return -1;
  }
  return pv_dict_probe(dict, reference, hash, weak_key_equal, value);
}

}  // namespace md
