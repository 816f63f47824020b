// Looking up a key in a dict without ever running a key's __eq__.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#ifdef __cplusplus
extern "C" {
#endif

/* 1 equal, 0 different, -1 cannot be said. Runs no Python code, raises nothing. */
typedef int (*PvKeyEqual)(PyObject* stored, PyObject* key);

/* Finds a key of exact built-in type that has this hash, in an exact dict. 1 found (*value is borrowed), 0 not there, -1 when `equal` could not say. */
int pv_dict_probe(PyObject* dict, PyObject* key, Py_hash_t hash, PvKeyEqual equal, PyObject** value);

#ifdef __cplusplus
}
#endif
