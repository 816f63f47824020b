// Looks up cached results of functions wrapped by functools.lru_cache.
// 1. A call is represented by its arguments as a constant: (positional, alternating keyword names and values). Only the
// first positional argument may be a non-constant, with identity as its equality: it is passed separately, else null.
// 2. A lookup runs no Python code and changes nothing.
#pragma once
#include "cpython/ref.h"

namespace md {

bool is_cached_function(PyObject* object);
// Whether the object uses the hash and equality of `object`.
bool is_equal_to_itself_alone(PyObject* object);
// The cache key as the wrapper builds it; null if `cached` is no such wrapper.
Ref cached_call_key(PyObject* cached, PyObject* first, PyObject* call);
// Returns 1 if found (borrowed), 0 if absent, -1 if unknown.
int lookup_cached_call(PyObject* cached, PyObject* first, PyObject* call, PyObject** result);
// The number of cached calls, and the capacity (-1: unbounded).
void cached_call_counts(PyObject* cached, Py_ssize_t& kept, Py_ssize_t& bound);

}  // namespace md
