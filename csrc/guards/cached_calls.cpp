#include "guards/cached_calls.h"

#include <memory>
#include <utility>
#include <vector>

#include "base/error.h"
#include "cpython/cached_function.h"
#include "cpython/dict_probe.h"
#include "cpython/weak_reference.h"
#include "guards/constants.h"
#include "guards/source.h"

namespace md {

namespace {

bool is_single_key(PyObject* object) { return PyUnicode_CheckExact(object) || PyLong_CheckExact(object); }

constexpr const char* kNumberPart = "number";

void release_number(PyObject* part) { delete static_cast<NumberCode*>(PyCapsule_GetPointer(part, kNumberPart)); }

const NumberCode& number_of(PyObject* part) {
  return *static_cast<NumberCode*>(PyCapsule_GetPointer(part, kNumberPart));
}

// Null if something that it is computed from is missing.
Ref computed_argument(const NumberCode& code, const LocalsView& view) {
  std::vector<Ref> found;
  std::vector<PyObject*> objects;
  for (const SizePlace& place : code.places()) {
    found.push_back(fetch(place.source, view));
    if (!found.back()) return nullptr;
    objects.push_back(found.back().get());
  }
  return code.evaluate(objects);
}

// The argument that a part of the call represents; null if it is dead, or unknown.
Ref argument_of(PyObject* part, const LocalsView& view) {
  if (is_number_part(part)) return computed_argument(number_of(part), view);
  if (PyWeakref_CheckRefExact(part)) {
    PyObject* referent = referent_of(part);
    return referent != Py_None && is_equal_to_itself_alone(referent) ? Ref::share(referent) : Ref();
  }
  if (!PyTuple_CheckExact(part) || is_guardable_constant(part)) return Ref::share(part);
  Ref tuple = check(PyTuple_New(PyTuple_GET_SIZE(part)));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(part); ++i) {
    Ref item = argument_of(PyTuple_GET_ITEM(part, i), view);
    if (!item) return nullptr;
    PyTuple_SET_ITEM(tuple.get(), i, item.release());
  }
  return tuple;
}

Ref key_of_call(const PvCachedFunction& cached, PyObject* call, const LocalsView& view) {
  Ref positional = argument_of(PyTuple_GET_ITEM(call, 0), view);
  Ref keywords = argument_of(PyTuple_GET_ITEM(call, 1), view);
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

Ref number_part(NumberCode code) {
  auto held = std::make_unique<NumberCode>(std::move(code));
  Ref part = check(PyCapsule_New(held.get(), kNumberPart, release_number));
  static_cast<void>(held.release());
  return part;
}

bool is_number_part(PyObject* part) { return PyCapsule_CheckExact(part) && PyCapsule_IsValid(part, kNumberPart) != 0; }

bool holds_number_part(PyObject* part) {
  if (!PyTuple_CheckExact(part)) return is_number_part(part);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(part); ++i)
    if (holds_number_part(PyTuple_GET_ITEM(part, i))) return true;
  return false;
}

std::string number_part_text(PyObject* part, const Bytecode& bytecode) {
  std::vector<std::string> places;
  for (const SizePlace& place : number_of(part).places()) places.push_back(name(place, bytecode));
  return number_of(part).text(places);
}

Ref cached_call_key(PyObject* cached, PyObject* call, const LocalsView& view) {
  PvCachedFunction parts;
  return pv_cached_function(cached, &parts) != 0 ? key_of_call(parts, call, view) : Ref();
}

int lookup_cached_call(PyObject* cached, PyObject* call, const LocalsView& view, PyObject** result) {
  PvCachedFunction parts;
  *result = nullptr;
  if (pv_cached_function(cached, &parts) == 0) return -1;
  if (parts.maxsize == 0) return 0;
  Ref key = key_of_call(parts, call, view);
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
