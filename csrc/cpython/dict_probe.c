// The probe sequence of CPython's dict, equal in all supported versions.
#ifndef Py_BUILD_CORE
#define Py_BUILD_CORE 1
#endif
#include "cpython/dict_probe.h"

#undef _PyGC_FINALIZED
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include "internal/pycore_dict.h"
#pragma GCC diagnostic pop

/* An entry index in the hash table, DKIX_EMPTY or DKIX_DUMMY; its width depends on the size of the table. */
static Py_ssize_t entry_index(const PyDictKeysObject* keys, size_t position) {
  const void* indices = keys->dk_indices;
  if (keys->dk_log2_size < 8) return ((const int8_t*)indices)[position];
  if (keys->dk_log2_size < 16) return ((const int16_t*)indices)[position];
  if (keys->dk_log2_size < 32) return ((const int32_t*)indices)[position];
  return (Py_ssize_t)((const int64_t*)indices)[position];
}

/* A table whose keys are all exact str can only match a str, and comparing them runs no code. */
static int find_among_str(PyObject* dict, PyObject* key, PyObject** value) {
  if (!PyUnicode_CheckExact(key)) return 0;
  *value = PyDict_GetItemWithError(dict, key);
  if (*value != NULL) return 1;
  if (!PyErr_Occurred()) return 0;
  PyErr_Clear();
  return -1;
}

int pv_dict_probe(PyObject* dict, PyObject* key, Py_hash_t hash, PvKeyEqual equal, PyObject** value) {
  PyDictKeysObject* keys = ((PyDictObject*)dict)->ma_keys;
  *value = NULL;
  if (keys->dk_kind != DICT_KEYS_GENERAL) return find_among_str(dict, key, value);
  size_t mask = ((size_t)1 << keys->dk_log2_size) - 1;
  size_t perturb = (size_t)hash;
  size_t position = (size_t)hash & mask;
  for (;;) {
    Py_ssize_t index = entry_index(keys, position);
    if (index == DKIX_EMPTY) return 0;
    if (index >= 0) {
      const PyDictKeyEntry* entry = DK_ENTRIES(keys) + index;
      if (entry->me_hash == hash) {
        int answer = entry->me_key == key ? 1 : equal(entry->me_key, key);
        if (answer < 0) return -1;
        if (answer > 0) {
          *value = entry->me_value;
          return 1;
        }
      }
    }
    perturb >>= 5;
    position = (position * 5 + perturb + 1) & mask;
  }
}
