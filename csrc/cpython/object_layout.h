// Reading built-in objects in place: no Python code runs, nothing is allocated, results are borrowed.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An attribute in the object's own storage (inline values, managed dict, dictoffset); the type is not looked at.
   name is an exact str. 1 found, 0 not found, -1 cannot be said without running code (a key with its own __eq__). */
int pv_instance_lookup(PyObject* object, PyObject* name, PyObject** value);
/* A look-up in a dict by an exact str; same results. */
int pv_dict_lookup(PyObject* dict, PyObject* name, PyObject** value);
/* The same along the MRO of a type, from a place in it on. */
int pv_mro_lookup(PyTypeObject* type, Py_ssize_t place, PyObject* name, PyObject** value);
/* The dict of this class alone, borrowed. */
PyObject* pv_type_dict(PyTypeObject* type);
/* The mapping that a mappingproxy shows, borrowed. */
PyObject* pv_shown_mapping(PyObject* proxy);
/* In the dict of this class alone. */
int pv_own_attribute(PyTypeObject* type, PyObject* name, PyObject** value);
/* Whether instances have attribute storage of their own: a dict or values. */
int pv_has_instance_storage(PyObject* object);
int pv_type_has_storage(PyTypeObject* type);

/* The next element of a set or frozenset in its order, borrowed; *position starts at 0. 0: no more. */
int pv_next_in_set(PyObject* set, Py_ssize_t* position, PyObject** item);

/* A word in memory and what it holds. */
typedef struct {
  const uint64_t* place;
  uint64_t value;
} PvWord;
/* The word in the object that says which dict holds its attributes. 0: none does. */
int pv_dict_word(PyObject* object, PvWord* word);
/* Of attributes that are kept in the object, not in a dict: the words that say so, and last the one with the attribute, 0 where it is
   unset, or how many names objects of the type have, where this is none of them. While all hold the same in an object of this type,
   the attribute is the same. The number of words, at most 3; 0: not so. */
int pv_inline_words(PyObject* object, PyObject* name, PvWord* words);

/* Where a module says which dict is its own. */
const void* pv_module_dict_place(PyObject* module);

/* The dict of the object's attributes, borrowed; NULL while it has none of its own. */
PyObject* pv_instance_dict(PyObject* object);

/* Iterators: 1 when `iterator` is exactly of this kind. An exhausted one gives *sequence == NULL. */
int pv_list_iterator(PyObject* iterator, Py_ssize_t* index, PyObject** sequence);
int pv_tuple_iterator(PyObject* iterator, Py_ssize_t* index, PyObject** sequence);
/* The values still to come: next, next + step ... (remaining of them). Small ranges only; a long range is not one. */
int pv_range_iterator(PyObject* iterator, long* next, long* step, long* remaining);

/* How a slot of localsplus is used, in the order of md::SlotKind: local, argument that becomes a cell, cell, free. */
int pv_slot_kind(PyCodeObject* code, int slot);

#ifdef __cplusplus
}
#endif
