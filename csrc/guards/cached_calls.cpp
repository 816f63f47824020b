#include "guards/cached_calls.h"

#include <vector>

#include "base/error.h"
#include "cpython/cached_function.h"
#include "cpython/dict_probe.h"
#include "cpython/weak_reference.h"
#include "guards/constants.h"

namespace md {

namespace {

bool is_single_key(PyObject* object) { return PyUnicode_CheckExact(object) || PyLong_CheckExact(object); }

// The argument that a part of the call represents; null if it is dead.
Ref argument_of(PyObject* part) {
  if (PyWeakref_CheckRefExact(part)) {
    PyObject* referent = referent_of(part);
    return referent != Py_None && is_equal_to_itself_alone(referent) ? Ref::share(referent) : Ref();
  }
  if (!PyTuple_CheckExact(part) || is_guardable_constant(part)) return Ref::share(part);
  Ref tuple = check(PyTuple_New(PyTuple_GET_SIZE(part)));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(part); ++i) {
    Ref item = argument_of(PyTuple_GET_ITEM(part, i));
    if (!item) return nullptr;
    PyTuple_SET_ITEM(tuple.get(), i, item.release());
  }
  return tuple;
}

Ref key_of_call(const PvCachedFunction& cached, PyObject* call) {
  Ref positional = argument_of(PyTuple_GET_ITEM(call, 0)), keywords = argument_of(PyTuple_GET_ITEM(call, 1));
  if (!positional || !keywords) return nullptr;
  std::vector<PyObject*> parts, types;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(positional.get()); ++i)
    parts.push_back(PyTuple_GET_ITEM(positional.get(), i));
  if (cached.typed != 0)
    for (PyObject* part : parts) types.push_back(reinterpret_cast<PyObject*>(Py_TYPE(part)));
  Py_ssize_t named = PyTuple_GET_SIZE(keywords.get());
  if (cached.typed == 0 && named == 0 && parts.size() == 1 && is_single_key(parts[0])) return Ref::share(parts[0]);
  if (named > 0) parts.push_back(cached.kwd_mark);
  for (Py_ssize_t i = 0; i < named; ++i) {
    parts.push_back(PyTuple_GET_ITEM(keywords.get(), i));
    if (cached.typed != 0 && i % 2 == 1) types.push_back(reinterpret_cast<PyObject*>(Py_TYPE(parts.back())));
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

bool compares_argument_types(PyObject* cached) {
  PvCachedFunction parts;
  return pv_cached_function(cached, &parts) != 0 && parts.typed != 0;
}

Ref cached_call_key(PyObject* cached, PyObject* call) {
  PvCachedFunction parts;
  return pv_cached_function(cached, &parts) != 0 ? key_of_call(parts, call) : Ref();
}

int lookup_cached_call(PyObject* cached, PyObject* call, PyObject** result) {
  PvCachedFunction parts;
  *result = nullptr;
  if (pv_cached_function(cached, &parts) == 0) return -1;
  if (parts.maxsize == 0) return 0;
  Ref key = key_of_call(parts, call);
  if (!key) return -1;
  Py_hash_t hash = PyObject_Hash(key);
  if (hash == -1) {
    PyErr_Clear();
    return -1;
  }
  int found = pv_dict_probe(parts.results, key, hash, constant_key_equal, result);
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
