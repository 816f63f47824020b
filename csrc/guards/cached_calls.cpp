#include "guards/cached_calls.h"

#include <vector>

#include "base/error.h"
#include "cpython/cached_function.h"
#include "cpython/dict_probe.h"
#include "guards/constants.h"

namespace md {

namespace {

// As constant_key_equal, but also handles the keyword mark and types in a key.
int part_equal(PyObject* stored, PyObject* part) {
  if (stored == part) return 1;
  bool is_plain = is_guardable_constant(part);
  if (is_plain) return constant_key_equal(stored, part);
  // `part` only equals itself, and returns False or NotImplemented when compared with a stored constant.
  if (is_guardable_constant(stored) || is_equal_to_itself_alone(stored)) return 0;
  return PyType_CheckExact(stored) && PyType_CheckExact(part) ? 0 : -1;
}

int key_equal(PyObject* stored, PyObject* key) {
  if (!PyTuple_CheckExact(key) || !PyTuple_CheckExact(stored)) return constant_key_equal(stored, key);
  if (PyTuple_GET_SIZE(stored) != PyTuple_GET_SIZE(key)) return 0;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(key); ++i) {
    int equal = part_equal(PyTuple_GET_ITEM(stored, i), PyTuple_GET_ITEM(key, i));
    if (equal != 1) return equal;
  }
  return 1;
}

bool is_single_key(PyObject* object) { return PyUnicode_CheckExact(object) || PyLong_CheckExact(object); }

Ref key_of_call(const PvCachedFunction& cached, PyObject* first, PyObject* call) {
  PyObject* rest = PyTuple_GET_ITEM(call, 0);
  PyObject* keywords = PyTuple_GET_ITEM(call, 1);
  std::vector<PyObject*> parts, types;
  if (first != nullptr) parts.push_back(first);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(rest); ++i) parts.push_back(PyTuple_GET_ITEM(rest, i));
  if (cached.typed != 0)
    for (PyObject* part : parts) types.push_back(reinterpret_cast<PyObject*>(Py_TYPE(part)));
  Py_ssize_t named = PyTuple_GET_SIZE(keywords);
  if (cached.typed == 0 && named == 0 && parts.size() == 1 && is_single_key(parts[0])) return Ref::share(parts[0]);
  if (named > 0) parts.push_back(cached.kwd_mark);
  for (Py_ssize_t i = 0; i < named; ++i) {
    parts.push_back(PyTuple_GET_ITEM(keywords, i));
    if (cached.typed != 0 && i % 2 == 1)
      types.push_back(reinterpret_cast<PyObject*>(Py_TYPE(PyTuple_GET_ITEM(keywords, i))));
  }
  parts.insert(parts.end(), types.begin(), types.end());
  Ref key = check(PyTuple_New(static_cast<Py_ssize_t>(parts.size())));
  for (size_t i = 0; i < parts.size(); ++i)
    PyTuple_SET_ITEM(key.get(), static_cast<Py_ssize_t>(i), Py_NewRef(parts[i]));
  return key;
}

}  // namespace

bool is_cached_function(PyObject* object) {
  PvCachedFunction parts;
  return pv_cached_function(object, &parts) != 0;
}

bool is_equal_to_itself_alone(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  return type->tp_hash == PyBaseObject_Type.tp_hash && type->tp_richcompare == PyBaseObject_Type.tp_richcompare;
}

Ref cached_call_key(PyObject* cached, PyObject* first, PyObject* call) {
  PvCachedFunction parts;
  return pv_cached_function(cached, &parts) != 0 ? key_of_call(parts, first, call) : Ref();
}

int lookup_cached_call(PyObject* cached, PyObject* first, PyObject* call, PyObject** result) {
  PvCachedFunction parts;
  *result = nullptr;
  if (pv_cached_function(cached, &parts) == 0) return -1;
  if (first != nullptr && !is_equal_to_itself_alone(first)) return -1;
  if (parts.maxsize == 0) return 0;
  Ref key = key_of_call(parts, first, call);
  Py_hash_t hash = PyObject_Hash(key);
  if (hash == -1) {
    PyErr_Clear();
    return -1;
  }
  int found = pv_dict_probe(parts.results, key, hash, key_equal, result);
  if (found > 0 && parts.maxsize > 0) *result = pv_cached_entry_result(*result);
  return found;
}

void cached_call_counts(PyObject* cached, Py_ssize_t& kept, Py_ssize_t& bound) {
  PvCachedFunction parts;
  MD_ASSERT(pv_cached_function(cached, &parts) != 0, "a function without a cache");
  kept = PyDict_GET_SIZE(parts.results);
  bound = parts.maxsize;
}

}  // namespace md
