// Version-specific layout of instance attributes and of the state of built-in iterators.
#ifndef Py_BUILD_CORE
#define Py_BUILD_CORE 1
#endif
#include "cpython/object_layout.h"

#undef _PyGC_FINALIZED
#include "internal/pycore_code.h"
#include "internal/pycore_dict.h"
#include "internal/pycore_moduleobject.h"
#include "internal/pycore_object.h"
#if PY_VERSION_HEX >= 0x030D0000
#include "internal/pycore_setobject.h"
#endif
#if PY_VERSION_HEX >= 0x030C0000
#include "internal/pycore_list.h"
#include "internal/pycore_range.h"
#include "internal/pycore_tuple.h"
typedef _PyListIterObject ListIterator;
typedef _PyTupleIterObject TupleIterator;
typedef _PyRangeIterObject RangeIterator;
#else
/* Not in a header before 3.12. */
typedef struct {
  PyObject_HEAD Py_ssize_t it_index;
  PyListObject* it_seq;
} ListIterator;
typedef struct {
  PyObject_HEAD Py_ssize_t it_index;
  PyTupleObject* it_seq;
} TupleIterator;
typedef struct {
  PyObject_HEAD long index;
  long start;
  long step;
  long len;
} RangeIterator;
#endif

/* The inline values of an instance without a dict; NULL if it has a dict or neither. */
static PyDictValues* inline_values(PyObject* object, PyObject** dict) {
  *dict = NULL;
#if PY_VERSION_HEX >= 0x030D0000
  if (Py_TYPE(object)->tp_flags & Py_TPFLAGS_INLINE_VALUES) {
    PyDictValues* values = _PyObject_InlineValues(object);
    if (values->valid) return values;
  }
  *dict = (PyObject*)_PyObject_GetManagedDict(object);
  return NULL;
#elif PY_VERSION_HEX >= 0x030C0000
  PyDictOrValues storage = *_PyObject_DictOrValuesPointer(object);
  if (_PyDictOrValues_IsValues(storage)) return _PyDictOrValues_GetValues(storage);
  *dict = _PyDictOrValues_GetDict(storage);
  return NULL;
#else
  *dict = *_PyObject_ManagedDictPointer(object);
  return *dict == NULL ? *_PyObject_ValuesPointer(object) : NULL;
#endif
}

static Py_hash_t known_hash(PyObject* text) { return ((PyASCIIObject*)text)->hash; }

/* Index of a name in the shared keys of a type, -1 if absent. At most SHARED_KEYS_MAX_SIZE entries. */
static Py_ssize_t shared_key_index(PyDictKeysObject* keys, PyObject* name) {
  PyDictUnicodeEntry* entries = DK_UNICODE_ENTRIES(keys);
  for (Py_ssize_t i = 0; i < keys->dk_nentries; i++) {
    if (entries[i].me_key == name) return i;
  }
  Py_hash_t hash = PyObject_Hash(name);
  for (Py_ssize_t i = 0; i < keys->dk_nentries; i++) {
    PyObject* key = entries[i].me_key;
    if (key != NULL && known_hash(key) == hash && PyUnicode_Compare(key, name) == 0) return i;
  }
  return -1;
}

int pv_dict_lookup(PyObject* dict, PyObject* name, PyObject** value) {
  *value = NULL;
  if (((PyDictObject*)dict)->ma_keys->dk_kind == DICT_KEYS_GENERAL) {
    /* A key that is not an exact str may have any __eq__. */
    Py_ssize_t position = 0;
    PyObject* key;
    PyObject* item;
    while (PyDict_Next(dict, &position, &key, &item)) {
      if (key == name) {
        *value = item;
        return 1;
      }
      if (!PyUnicode_CheckExact(key)) return -1;
    }
  }
  *value = PyDict_GetItemWithError(dict, name);
  if (*value != NULL) return 1;
  if (PyErr_Occurred()) {
    PyErr_Clear();
    return -1;
  }
  return 0;
}

int pv_instance_lookup(PyObject* object, PyObject* name, PyObject** value) {
  *value = NULL;
  PyTypeObject* type = Py_TYPE(object);
  if (type->tp_flags & Py_TPFLAGS_MANAGED_DICT) {
    PyObject* dict;
    PyDictValues* values = inline_values(object, &dict);
    if (dict != NULL) return pv_dict_lookup(dict, name, value);
    if (values == NULL) return 0;
    Py_ssize_t index = shared_key_index(((PyHeapTypeObject*)type)->ht_cached_keys, name);
    if (index >= 0) *value = values->values[index];
    return *value != NULL;
  }
  if (type->tp_dictoffset == 0) return 0;
  PyObject** dict = _PyObject_GetDictPtr(object);
  if (dict == NULL || *dict == NULL) return 0;
  return pv_dict_lookup(*dict, name, value);
}

PyObject* pv_instance_dict(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  if (type->tp_flags & Py_TPFLAGS_MANAGED_DICT) {
    PyObject* dict;
#if PY_VERSION_HEX >= 0x030D0000
    /* The dict of an object with inline values shares them. */
    dict = (PyObject*)_PyObject_GetManagedDict(object);
#else
    inline_values(object, &dict);
#endif
    return dict;
  }
  if (type->tp_dictoffset == 0) return NULL;
  PyObject** dict = _PyObject_GetDictPtr(object);
  return dict != NULL ? *dict : NULL;
}

static PvWord word_at(const void* place) {
  PvWord word = {(const uint64_t*)place, *(const uint64_t*)place};
  return word;
}

int pv_dict_word(PyObject* object, PvWord* word) {
  if (pv_instance_dict(object) == NULL) return 0;
  const void* place;
  if (Py_TYPE(object)->tp_flags & Py_TPFLAGS_MANAGED_DICT) {
#if PY_VERSION_HEX >= 0x030D0000
    place = _PyObject_ManagedDictPointer(object);
#elif PY_VERSION_HEX >= 0x030C0000
    place = _PyObject_DictOrValuesPointer(object);
#else
    place = _PyObject_ManagedDictPointer(object);
#endif
  } else {
    place = _PyObject_GetDictPtr(object);
  }
  *word = word_at(place);
  return 1;
}

const void* pv_module_dict_place(PyObject* module) { return &((PyModuleObject*)module)->md_dict; }

int pv_inline_words(PyObject* object, PyObject* name, PvWord* words) {
  PyTypeObject* type = Py_TYPE(object);
  if ((type->tp_flags & Py_TPFLAGS_MANAGED_DICT) == 0) return 0;
  PyObject* dict;
  PyDictValues* values = inline_values(object, &dict);
  if (values == NULL) return 0;
  PyDictKeysObject* keys = ((PyHeapTypeObject*)type)->ht_cached_keys;
  Py_ssize_t index = shared_key_index(keys, name);
  int count = 0;
#if PY_VERSION_HEX >= 0x030D0000
  words[count++] = word_at(values); /* contains `valid` */
#elif PY_VERSION_HEX >= 0x030C0000
  words[count++] = word_at(_PyObject_DictOrValuesPointer(object));
#else
  words[count++] = word_at(_PyObject_ManagedDictPointer(object));
  words[count++] = word_at(_PyObject_ValuesPointer(object));
#endif
  /* Names new to the shared keys are appended behind the existing ones. */
  words[count++] = index >= 0 ? word_at(&values->values[index]) : word_at(&keys->dk_nentries);
  return count;
}

PyObject* pv_type_dict(PyTypeObject* type) {
#if PY_VERSION_HEX >= 0x030C0000
  PyObject* dict = PyType_GetDict(type);
  Py_XDECREF(dict); /* the type owns it */
  return dict;
#else
  return type->tp_dict;
#endif
}

int pv_own_attribute(PyTypeObject* type, PyObject* name, PyObject** value) {
  *value = NULL;
  PyObject* dict = pv_type_dict(type);
  return dict != NULL ? pv_dict_lookup(dict, name, value) : 0;
}

/* copy of mappingproxyobject in Objects/descrobject.c */
typedef struct {
  PyObject_HEAD PyObject* mapping;
} MappingProxy;

PyObject* pv_shown_mapping(PyObject* proxy) { return ((MappingProxy*)proxy)->mapping; }

int pv_mro_lookup(PyTypeObject* type, Py_ssize_t place, PyObject* name, PyObject** value) {
  *value = NULL;
  PyObject* mro = type->tp_mro;
  for (; mro != NULL && place < PyTuple_GET_SIZE(mro); place++) {
    int found = pv_own_attribute((PyTypeObject*)PyTuple_GET_ITEM(mro, place), name, value);
    if (found != 0) return found;
  }
  return 0;
}

int pv_next_in_set(PyObject* set, Py_ssize_t* position, PyObject** item) {
  Py_hash_t hash;
  return _PySet_NextEntry(set, position, item, &hash);
}

int pv_has_instance_storage(PyObject* object) { return pv_type_has_storage(Py_TYPE(object)); }

int pv_type_has_storage(PyTypeObject* type) {
  return (type->tp_flags & Py_TPFLAGS_MANAGED_DICT) != 0 || type->tp_dictoffset != 0;
}

int pv_list_iterator(PyObject* iterator, Py_ssize_t* index, PyObject** sequence) {
  if (Py_TYPE(iterator) != &PyListIter_Type) return 0;
  *index = ((ListIterator*)iterator)->it_index;
  *sequence = (PyObject*)((ListIterator*)iterator)->it_seq;
  return 1;
}

int pv_tuple_iterator(PyObject* iterator, Py_ssize_t* index, PyObject** sequence) {
  if (Py_TYPE(iterator) != &PyTupleIter_Type) return 0;
  *index = ((TupleIterator*)iterator)->it_index;
  *sequence = (PyObject*)((TupleIterator*)iterator)->it_seq;
  return 1;
}

int pv_range_iterator(PyObject* iterator, long* next, long* step, long* remaining) {
  if (Py_TYPE(iterator) != &PyRangeIter_Type) return 0;
  RangeIterator* range = (RangeIterator*)iterator;
#if PY_VERSION_HEX >= 0x030C0000
  *next = range->start;
  *remaining = range->len;
#else
  *next = range->start + range->index * range->step;
  *remaining = range->len - range->index;
#endif
  *step = range->step;
  return 1;
}

int pv_slot_kind(PyCodeObject* code, int slot) {
  _PyLocals_Kind kind = _PyLocals_GetKind(code->co_localspluskinds, slot);
  if (kind & CO_FAST_FREE) return 3;
  if (kind & CO_FAST_CELL) return kind & CO_FAST_LOCAL ? 1 : 2;
  return 0;
}
