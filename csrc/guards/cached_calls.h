// Looks up cached results of functions wrapped by functools.lru_cache.
// 1. A call is represented by (positional, alternating keyword names and values). An argument is a constant, a weak
// reference, which represents its referent, an object equal to itself alone, a number that is computed for each look-up
// (number_part), or a tuple of these.
// 2. A lookup runs no Python code and changes nothing.
#pragma once
#include <string>

#include "cpython/ref.h"
#include "guards/locals_view.h"
#include "guards/number_code.h"

namespace md {

class Bytecode;

bool is_cached_function(PyObject* object);
// Whether the object uses the hash and equality of `object`.
bool is_equal_to_itself_alone(PyObject* object);
// Whether it keeps calls with equal arguments of different types apart (typed=True).
bool compares_argument_types(PyObject* cached);
// An int as a part of a call, computed from what the code's places have in the view.
Ref number_part(NumberCode code);
bool is_number_part(PyObject* part);
// Whether the part, or one inside it, is such a number.
bool holds_number_part(PyObject* part);
std::string number_part_text(PyObject* part, const Bytecode& bytecode);
// The cache key as the wrapper builds it; null if `cached` is no such wrapper, a referent is dead, or a number cannot
// be computed.
Ref cached_call_key(PyObject* cached, PyObject* call, const LocalsView& view);
// Returns 1 if found (borrowed), 0 if absent, -1 if unknown.
int lookup_cached_call(PyObject* cached, PyObject* call, const LocalsView& view, PyObject** result);
// The number of cached calls, and the capacity (-1: unbounded).
void cached_call_counts(PyObject* cached, Py_ssize_t& kept, Py_ssize_t& bound);

}  // namespace md
