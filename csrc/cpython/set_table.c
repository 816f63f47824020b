#ifndef Py_BUILD_CORE
#define Py_BUILD_CORE 1
#endif
#include "cpython/set_table.h"

#include <string.h>

#if PY_VERSION_HEX >= 0x030D0000
#include "internal/pycore_setobject.h"
#endif

/* The hash of a place whose element was discarded; no element has it. */
#define DISCARDED (-1)

/* The layout: this head, then the hashes of all places, and whether there is anything at them. */
typedef struct {
  Py_ssize_t fill, used, mask, finger;
} LayoutHead;

typedef struct {
  Py_hash_t hash;
  int64_t taken;
} LayoutPlace;

static int is_element(const setentry* entry) { return entry->key != NULL && entry->hash != DISCARDED; }

/* A table of this size, empty, for an empty set of the smallest size. */
static int make_room(PySetObject* set, Py_ssize_t mask) {
  if (mask < PySet_MINSIZE) return 0;
  setentry* table = PyMem_New(setentry, mask + 1);
  if (table == NULL) {
    PyErr_NoMemory();
    return -1;
  }
  memset(table, 0, sizeof(setentry) * (size_t)(mask + 1));
  set->table = table;
  set->mask = mask;
  return 0;
}

PyObject* pv_set_copy(PyObject* set, int frozen) {
  const PySetObject* from = (const PySetObject*)set;
  PyObject* made = frozen ? PyFrozenSet_New(NULL) : PySet_New(NULL);
  if (made == NULL) return NULL;
  PySetObject* to = (PySetObject*)made;
  if (make_room(to, from->mask) < 0) {
    Py_DECREF(made);
    return NULL;
  }
  for (Py_ssize_t i = 0; i <= from->mask; ++i) {
    to->table[i] = from->table[i];
    if (is_element(&to->table[i])) Py_INCREF(to->table[i].key);
  }
  to->fill = from->fill;
  to->used = from->used;
  to->finger = from->finger;
  return made;
}

PyObject* pv_set_layout(PyObject* set) {
  const PySetObject* from = (const PySetObject*)set;
  size_t size = sizeof(LayoutHead) + sizeof(LayoutPlace) * (size_t)(from->mask + 1);
  PyObject* layout = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)size);
  if (layout == NULL) return NULL;
  LayoutHead head = {from->fill, from->used, from->mask, from->finger};
  char* to = PyBytes_AS_STRING(layout);
  memcpy(to, &head, sizeof head);
  to += sizeof head;
  for (Py_ssize_t i = 0; i <= from->mask; ++i, to += sizeof(LayoutPlace)) {
    LayoutPlace place = {from->table[i].hash, from->table[i].key != NULL};
    memcpy(to, &place, sizeof place);
  }
  return layout;
}

/* 1 if these are the hashes of the layout's elements, 0 if not, -1 with an exception. */
static int fits(const LayoutHead* head, const LayoutPlace* places, PyObject* const* items, Py_ssize_t count) {
  if (head->used != count) return 0;
  for (Py_ssize_t i = 0, item = 0; i <= head->mask; ++i) {
    if (!places[i].taken || places[i].hash == DISCARDED) continue;
    Py_hash_t hash = PyObject_Hash(items[item++]);
    if (hash == -1) return -1;
    if (hash != places[i].hash) return 0;
  }
  return 1;
}

int pv_set_fill(PyObject* set, PyObject* layout, PyObject* const* items, Py_ssize_t count) {
  LayoutHead head;
  memcpy(&head, PyBytes_AS_STRING(layout), sizeof head);
  const LayoutPlace* places = (const LayoutPlace*)(PyBytes_AS_STRING(layout) + sizeof head);
  int fitting = fits(&head, places, items, count);
  if (fitting < 0) return -1;
  if (!fitting) {
    for (Py_ssize_t i = 0; i < count; ++i)
      if (PySet_Add(set, items[i]) < 0) return -1;
    return 0;
  }
  PySetObject* to = (PySetObject*)set;
  if (make_room(to, head.mask) < 0) return -1;
  for (Py_ssize_t i = 0, item = 0; i <= head.mask; ++i) {
    if (!places[i].taken) continue;
    to->table[i].hash = places[i].hash;
    to->table[i].key = places[i].hash == DISCARDED ? _PySet_Dummy : Py_NewRef(items[item++]);
  }
  to->fill = head.fill;
  to->used = head.used;
  to->finger = head.finger;
  return 0;
}

/* What is made of a set with discarded places is filled in the order of iteration; else places are copied. */
uint64_t pv_set_fingerprint(PyObject* set) {
  const PySetObject* of = (const PySetObject*)set;
  if (of->fill != of->used) return 0;
  uint64_t print = (uint64_t)of->mask + 1;
  for (Py_ssize_t i = 0; i <= of->mask; ++i)
    print = (print ^ (uint64_t)(of->table[i].key != NULL)) * UINT64_C(0x9e3779b97f4a7c15) + (print >> 29);
  return print;
}
