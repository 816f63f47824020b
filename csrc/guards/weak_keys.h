// Dicts whose keys are weak references, as in weakref.WeakKeyDictionary.
#pragma once
#include "cpython/ref.h"

namespace md {

// Whether it is a plain weakref.ref to an object that only equals itself.
bool is_plain_weak_key(PyObject* object);
// The value for a key equal to such a reference. Returns 1 if found (borrowed), 0 if absent, -1 if
// unknown without running Python code.
int lookup_weak_key(PyObject* dict, PyObject* reference, PyObject** value);

}  // namespace md
