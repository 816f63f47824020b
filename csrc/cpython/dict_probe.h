// Looks up a key in a dict without ever running a key's __eq__.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Returns 1 if equal, 0 if different, -1 if unknown. Runs no Python code, raises nothing. */
typedef int (*PvKeyEqual)(PyObject* stored, PyObject* key);

/* Finds a key of an exact built-in type with this hash in an exact dict. Returns 1 if found (*value is borrowed), 0 if
   absent, -1 if `equal` returned -1. */
int pv_dict_probe(PyObject* dict, PyObject* key, Py_hash_t hash, PvKeyEqual equal, PyObject** value);

#ifdef __cplusplus
}
#endif
