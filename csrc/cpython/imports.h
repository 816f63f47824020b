// What a module of the standard library, or of ours, has under a name.
#pragma once
#include "cpython/ref.h"

namespace md {

// Imports the module if it is not loaded; throws PythonError if it or the name is not there. Runs no Python code if it is: a
// from-list would, for a package. Does not ask the builtins of the running frame for __import__, which may have none (the
// __new__ of a named tuple).
inline Ref imported(const char* module, const char* name) {
  Ref module_name = check(PyUnicode_FromString(module));
  Ref loaded = Ref::steal(PyImport_GetModule(module_name));
  if (!loaded && PyErr_Occurred() == nullptr) {
    Ref names = check(Py_BuildValue("(s)", name));
    loaded = Ref::steal(PyImport_ImportModuleLevel(module, nullptr, nullptr, names, 0));
  }
  return check(PyObject_GetAttrString(check(loaded.release()), name));
}

}  // namespace md
