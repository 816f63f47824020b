// Access to the version tags of dicts. 3.12 deprecates the field, 3.14 removes it.
#ifndef Py_BUILD_CORE
#define Py_BUILD_CORE 1
#endif
#include "cpython/dict_version.h"

#undef _PyGC_FINALIZED
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include "internal/pycore_dict.h"
#include "internal/pycore_object.h"
#pragma GCC diagnostic pop

#if PY_VERSION_HEX >= 0x030E0000

const uint64_t* pv_dict_version_place(PyObject* dict) {
  (void)dict;
  return NULL;
}

uint64_t pv_dict_version(PyObject* dict) {
  (void)dict;
  return 0;
}

uint64_t pv_attributes_version(PyObject* object) {
  (void)object;
  return 0;
}

#else

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
static const uint64_t* version_place(PyDictObject* dict) {
#if PY_VERSION_HEX >= 0x030D0000
  /* The values of a split dict may be inline values of an object, which are written without changing the version. */
  if (dict->ma_values != NULL) return NULL;
#endif
  return &dict->ma_version_tag;
}
#pragma GCC diagnostic pop

static uint64_t version_of(PyDictObject* dict) {
  const uint64_t* place = version_place(dict);
  return place != NULL ? *place : 0;
}

const uint64_t* pv_dict_version_place(PyObject* dict) {
  return dict != NULL && PyDict_Check(dict) ? version_place((PyDictObject*)dict) : NULL;
}

uint64_t pv_dict_version(PyObject* dict) {
  return dict != NULL && PyDict_Check(dict) ? version_of((PyDictObject*)dict) : 0;
}

uint64_t pv_attributes_version(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  if ((type->tp_flags & Py_TPFLAGS_MANAGED_DICT) == 0) return 0;
#if PY_VERSION_HEX >= 0x030D0000
  PyObject* dict = (PyObject*)_PyObject_GetManagedDict(object);
#elif PY_VERSION_HEX >= 0x030C0000
  PyDictOrValues storage = *_PyObject_DictOrValuesPointer(object);
  PyObject* dict = _PyDictOrValues_IsValues(storage) ? NULL : _PyDictOrValues_GetDict(storage);
#else
  PyObject* dict = *_PyObject_ManagedDictPointer(object);
#endif
  return dict != NULL ? version_of((PyDictObject*)dict) : 0;
}

#endif
