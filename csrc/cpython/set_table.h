// The hash table of an exact set or frozenset: it decides the order of the set, and of what is made of the set.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A new set, or frozenset, with the very table of this one, places of discarded elements included. */
PyObject* pv_set_copy(PyObject* set, int frozen);

/* The table without its elements, as bytes: nothing in them keeps an element alive. */
PyObject* pv_set_layout(PyObject* set);

/* Puts the elements, in the order of iteration, into an empty set or frozenset that no other code has seen: with that
   table if their hashes are those of the layout's elements, else one by one. Returns -1 with an exception. */
int pv_set_fill(PyObject* set, PyObject* layout, PyObject* const* items, Py_ssize_t count);

/* A number that is equal for two sets with equal elements in equal order if what is made of the one has the order of
   what is made of the other. */
uint64_t pv_set_fingerprint(PyObject* set);

#ifdef __cplusplus
}
#endif
