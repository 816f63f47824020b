#include "cpython/cached_function.h"

typedef struct Entry {
  PyObject_HEAD struct Entry *previous, *next;
  Py_hash_t hash;
  PyObject *key, *result;
} Entry;

typedef struct {
  Entry root; /* includes the head */
  PyObject* (*call)(void*, PyObject*, PyObject*);
  int typed;
  PyObject* results;
  Py_ssize_t hits;
  PyObject* function;
  Py_ssize_t maxsize;
  Py_ssize_t misses;
  PyObject* kwd_mark;
  PyTypeObject* entry_type;
  PyObject* info_type;
  PyObject* dict;
  PyObject* weak_references;
} CachedFunction;

static CachedFunction* as_cached(PyObject* object) { return (CachedFunction*)object; }

/* Whether a sample with one recorded miss and one hit has the expected layout. */
static int looks_right(PyObject* sample, PyObject* wrapped, PyObject* key) {
  CachedFunction* cached = as_cached(sample);
  if (Py_TYPE(sample)->tp_basicsize != (Py_ssize_t)sizeof(CachedFunction)) return 0;
  if (cached->function != wrapped || cached->maxsize != 5 || cached->typed != 0) return 0;
  if (cached->hits != 1 || cached->misses != 1 || !PyDict_CheckExact(cached->results)) return 0;
  PyObject* entry = PyDict_GetItemWithError(cached->results, key);
  if (entry == NULL || Py_TYPE(entry) != cached->entry_type) return 0;
  if (Py_TYPE(entry)->tp_basicsize != (Py_ssize_t)sizeof(Entry)) return 0;
  PyObject* result = ((Entry*)entry)->result;
  return ((Entry*)entry)->key == key && PyLong_CheckExact(result) && PyLong_AsLong(result) == 6 &&
         Py_TYPE(cached->kwd_mark) == &PyBaseObject_Type;
}

/* The type, kept alive for the whole process; NULL if its objects have another layout. */
static PyTypeObject* find_type(void) {
  PyTypeObject* type = NULL;
  PyObject* functools = PyImport_ImportModule("functools");
  PyObject* builtins = PyImport_ImportModule("builtins");
  PyObject* wrapped = builtins != NULL ? PyObject_GetAttrString(builtins, "len") : NULL;
  PyObject* decorator = functools != NULL ? PyObject_CallMethod(functools, "lru_cache", "i", 5) : NULL;
  PyObject* sample = decorator != NULL && wrapped != NULL ? PyObject_CallOneArg(decorator, wrapped) : NULL;
  PyObject* key = PyUnicode_InternFromString("sample");
  PyObject* miss = sample != NULL && key != NULL ? PyObject_CallOneArg(sample, key) : NULL;
  PyObject* hit = miss != NULL ? PyObject_CallOneArg(sample, key) : NULL;
  if (hit != NULL && looks_right(sample, wrapped, key)) type = (PyTypeObject*)Py_NewRef((PyObject*)Py_TYPE(sample));
  Py_XDECREF(hit);
  Py_XDECREF(miss);
  Py_XDECREF(key);
  Py_XDECREF(sample);
  Py_XDECREF(decorator);
  Py_XDECREF(wrapped);
  Py_XDECREF(builtins);
  Py_XDECREF(functools);
  PyErr_Clear();
  return type;
}

int pv_cached_function(PyObject* object, PvCachedFunction* into) {
  static PyTypeObject* type = NULL;
  static int asked = 0;
  if (!asked) {
    type = find_type();
    asked = 1;
  }
  if (object == NULL || type == NULL || Py_TYPE(object) != type) return 0;
  CachedFunction* cached = as_cached(object);
  into->results = cached->results;
  into->function = cached->function;
  into->kwd_mark = cached->kwd_mark;
  into->maxsize = cached->maxsize;
  into->typed = cached->typed;
  return 1;
}

PyObject* pv_cached_entry_result(PyObject* entry) { return ((Entry*)entry)->result; }

void pv_cached_count_failure(PyObject* object) { ++as_cached(object)->misses; }

/* Replaces the wrapped function for one call: restores it and returns its recorded result.
   `parts`: object, function, result. */
static PyObject* give_result(PyObject* parts, PyObject* Py_UNUSED(args), PyObject* Py_UNUSED(kwargs)) {
  CachedFunction* cached = as_cached(PyTuple_GET_ITEM(parts, 0));
  PyObject* stand_in = cached->function;
  cached->function = Py_NewRef(PyTuple_GET_ITEM(parts, 1));
  Py_DECREF(stand_in); /* the caller holds another reference */
  return Py_NewRef(PyTuple_GET_ITEM(parts, 2));
}

int pv_cached_store(PyObject* object, PyObject* args, PyObject* kwargs, PyObject* result) {
  static PyMethodDef method = {"give_result", (PyCFunction)(void (*)(void))give_result, METH_VARARGS | METH_KEYWORDS,
                               NULL};
  CachedFunction* cached = as_cached(object);
  PyObject* function = cached->function; /* owns its reference once the slot is overwritten */
  PyObject* parts = PyTuple_Pack(3, object, function, result);
  PyObject* stand_in = parts != NULL ? PyCFunction_New(&method, parts) : NULL;
  Py_XDECREF(parts);
  if (stand_in == NULL) return -1;
  cached->function = Py_NewRef(stand_in);
  PyObject* given = PyObject_Call(object, args, kwargs);
  if (cached->function == stand_in) { /* it was not called */
    cached->function = function;
    Py_DECREF(stand_in);
  } else {
    Py_DECREF(function);
  }
  Py_DECREF(stand_in);
  Py_XDECREF(given);
  return given != NULL ? 0 : -1;
}
