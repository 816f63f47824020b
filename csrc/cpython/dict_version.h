// The versions of dicts (PEP 509), where this Python has them: equal numbers mean the same dict with the same contents.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#ifdef __cplusplus
extern "C" {
#endif

/* 0: no dict, or one whose every change is not counted. */
uint64_t pv_dict_version(PyObject* dict);
/* Where that number stands while the dict lives; NULL for 0. */
const uint64_t* pv_dict_version_place(PyObject* dict);
/* Of the dict that holds the attributes in the object's own storage; 0 also where they are not in a dict. */
uint64_t pv_attributes_version(PyObject* object);

#ifdef __cplusplus
}
#endif
