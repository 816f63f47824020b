// The object returned by functools.lru_cache: its struct is private to CPython, and equal in all supported versions.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Its fields, borrowed. */
typedef struct {
  PyObject* results;  /* exact dict: key to result, or, if maxsize > 0, to an entry that holds the result */
  PyObject* function; /* the wrapped function */
  PyObject* kwd_mark; /* separates positional arguments from keywords in a key */
  Py_ssize_t maxsize; /* -1: unbounded */
  int typed;
} PvCachedFunction;

/* Returns 0 if `object` is of another type, or if this CPython uses another layout. Raises nothing. */
int pv_cached_function(PyObject* object, PvCachedFunction* into);
/* The result in an entry of a bounded cache. Borrowed. */
PyObject* pv_cached_entry_result(PyObject* entry);
/* Records a miss whose function raised. */
void pv_cached_count_failure(PyObject* object);
/* Records a miss whose function returned `result`, with all that the object does then. -1: an exception is set. */
int pv_cached_store(PyObject* object, PyObject* args, PyObject* kwargs, PyObject* result);

#ifdef __cplusplus
}
#endif
