// Version tags of dicts (PEP 509), where this Python has them: equal tags mean the same dict with the same contents.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Returns 0 if it is no dict, or if some changes of it do not update the version. */
uint64_t pv_dict_version(PyObject* dict);
/* Address of the version, valid while the dict lives; NULL where pv_dict_version() is 0. */
const uint64_t* pv_dict_version_place(PyObject* dict);
/* Version of the dict that stores the object's attributes; 0 also if they are not stored in a dict. */
uint64_t pv_attributes_version(PyObject* object);

#ifdef __cplusplus
}
#endif
