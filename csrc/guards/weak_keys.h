// Dicts whose keys are weak references, as weakref.WeakKeyDictionary has one.
#pragma once
#include "cpython/ref.h"

namespace md {

// A weak reference in weakref's own way, to an object that is equal to itself alone.
bool is_plain_weak_key(PyObject* object);
// What is under a reference equal to such a one. 1 found (borrowed), 0 not there, -1 cannot be said without running Python code.
int lookup_weak_key(PyObject* dict, PyObject* reference, PyObject** value);

}  // namespace md
