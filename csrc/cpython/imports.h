// What a module of the standard library, or of ours, has under a name.
#pragma once
#include "cpython/ref.h"

namespace md {

// Imports the module if it is not loaded; throws PythonError if it or the name is not there.
inline Ref imported(const char* module, const char* name) {
  return check(PyObject_GetAttrString(check(PyImport_ImportModule(module)), name));
}

}  // namespace md
