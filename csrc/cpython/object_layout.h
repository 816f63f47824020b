// Reads built-in objects in place: runs no Python code, allocates nothing, results are borrowed.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An attribute in the object's own storage (inline values, managed dict, dictoffset), ignoring the type. `name` is an
   exact str. Returns 1 if found, 0 if not, -1 if unknown without running code (a key with its own __eq__). */
int pv_instance_lookup(PyObject* object, PyObject* name, PyObject** value);
/* Looks up an exact str in a dict; same results. */
int pv_dict_lookup(PyObject* dict, PyObject* name, PyObject** value);
/* Looks up a name along the MRO of a type, starting at index `place`; same results. */
int pv_mro_lookup(PyTypeObject* type, Py_ssize_t place, PyObject* name, PyObject** value);
/* The dict of this class alone, borrowed. */
PyObject* pv_type_dict(PyTypeObject* type);
/* The mapping wrapped by a mappingproxy, borrowed. */
PyObject* pv_shown_mapping(PyObject* proxy);
/* Looks up a name in the dict of this class alone. */
int pv_own_attribute(PyTypeObject* type, PyObject* name, PyObject** value);
/* Whether instances have attribute storage of their own: a dict or values. */
int pv_has_instance_storage(PyObject* object);
int pv_type_has_storage(PyTypeObject* type);

/* The next element of a set or frozenset in iteration order, borrowed; *position starts at 0. Returns 0 at the end. */
int pv_next_in_set(PyObject* set, Py_ssize_t* position, PyObject** item);

/* An address in memory and the word stored there. */
typedef struct {
  const uint64_t* place;
  uint64_t value;
} PvWord;
/* The word in the object that identifies the dict of its attributes. Returns 0 if there is none. */
int pv_dict_word(PyObject* object, PvWord* word);
/* For attributes stored inline, not in a dict: the words that establish this, followed by the word of the
   attribute (0 if unset), or, if no object of the type has the name, the number of names in the shared keys.
   While all words are unchanged in an object of this type, so is the attribute. Returns the number of words,
   at most 3; 0 if not applicable. */
int pv_inline_words(PyObject* object, PyObject* name, PvWord* words);

/* Address of the module's pointer to its dict. */
const void* pv_module_dict_place(PyObject* module);

/* The dict of the object's attributes, borrowed; NULL if none has been created. */
PyObject* pv_instance_dict(PyObject* object);

/* Iterators: return 1 if `iterator` is exactly of this type. For an exhausted one *sequence is NULL. */
int pv_list_iterator(PyObject* iterator, Py_ssize_t* index, PyObject** sequence);
int pv_tuple_iterator(PyObject* iterator, Py_ssize_t* index, PyObject** sequence);
/* The remaining values: next, next + step ... Small ranges only, not those with Python ints (longrange_iterator). */
int pv_range_iterator(PyObject* iterator, long* next, long* step, long* remaining);

/* How a slot of localsplus is used, in the order of md::SlotKind: local, argument that becomes a cell, cell, free. */
int pv_slot_kind(PyCodeObject* code, int slot);

#ifdef __cplusplus
}
#endif
