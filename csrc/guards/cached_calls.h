// What a function under functools.lru_cache has kept for a call.
//  1. A call is its arguments as a constant: (positional, names and values of the keywords in turn). Only the first positional
//     one may be another object, with the identity of object itself for its equality: it is given beside them, or null.
//  2. Looking runs no Python code and changes nothing.
#pragma once
#include "cpython/ref.h"

namespace md {

bool is_cached_function(PyObject* object);
// Hash and equality of the object are those of `object`.
bool is_equal_to_itself_alone(PyObject* object);
// The key as the cache makes it; null: `cached` is no such function.
Ref cached_call_key(PyObject* cached, PyObject* first, PyObject* call);
// 1 found (borrowed), 0 not there, -1 cannot be said.
int lookup_cached_call(PyObject* cached, PyObject* first, PyObject* call, PyObject** result);
// The number of calls kept, and of those that fit (-1: no bound).
void cached_call_counts(PyObject* cached, Py_ssize_t& kept, Py_ssize_t& bound);

}  // namespace md
