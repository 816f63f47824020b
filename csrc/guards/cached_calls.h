// Looks up cached results of functions wrapped by functools.lru_cache.
// 1. A call is represented by (positional, alternating keyword names and values). An argument is a constant, a weak
// reference, which represents its referent, an object equal to itself alone, or a tuple of these.
// 2. A lookup runs no Python code and changes nothing.
#pragma once
#include "cpython/ref.h"

namespace md {

bool is_cached_function(PyObject* object);
// Whether the object uses the hash and equality of `object`.
bool is_equal_to_itself_alone(PyObject* object);
// Whether it keeps calls with equal arguments of different types apart (typed=True).
bool compares_argument_types(PyObject* cached);
// The cache key as the wrapper builds it; null if `cached` is no such wrapper, or a referent is dead.
Ref cached_call_key(PyObject* cached, PyObject* call);
// Returns 1 if found (borrowed), 0 if absent, -1 if unknown.
int lookup_cached_call(PyObject* cached, PyObject* call, PyObject** result);
// The number of cached calls, and the capacity (-1: unbounded).
void cached_call_counts(PyObject* cached, Py_ssize_t& kept, Py_ssize_t& bound);

}  // namespace md
