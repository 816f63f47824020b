// The object that functools.lru_cache makes: its structure is private to CPython, and the same on all supported versions.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What it holds, borrowed. */
typedef struct {
  PyObject* results;  /* exact dict: key to result, or, where maxsize is > 0, to an entry that holds the result */
  PyObject* function; /* the wrapped one */
  PyObject* kwd_mark; /* stands between positional arguments and keywords in a key */
  Py_ssize_t maxsize; /* -1: without bound */
  int typed;
} PvCachedFunction;

/* 0: `object` is no such object, or this CPython lays it out otherwise. Raises nothing. */
int pv_cached_function(PyObject* object, PvCachedFunction* into);
/* The result in an entry of a bounded one. Borrowed. */
PyObject* pv_cached_entry_result(PyObject* entry);
/* A call that found nothing, and whose function raised. */
void pv_cached_count_failure(PyObject* object);
/* A call that found nothing, and whose function gave `result`, with all that the object does then. -1: an exception is set. */
int pv_cached_store(PyObject* object, PyObject* args, PyObject* kwargs, PyObject* result);

#ifdef __cplusplus
}
#endif
