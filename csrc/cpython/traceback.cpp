#include "cpython/traceback.h"

#include <frameobject.h>

namespace md {

namespace {

// Null: it has no such name.
Ref name_of_module(BorrowedRef object) {
  static PyObject* const kModule = PyUnicode_InternFromString("__module__");
  Ref name = Ref::steal(PyObject_GetAttr(object, kModule));
  if (!name) PyErr_Clear();
  return name && PyUnicode_Check(name.get()) ? std::move(name) : Ref();
}

// "numpy" of "numpy.linalg".
Ref package_of(BorrowedRef module_name) {
  static PyObject* const kDot = PyUnicode_InternFromString(".");
  Ref parts = check(PyUnicode_Partition(module_name, kDot));
  return Ref::share(PyTuple_GET_ITEM(parts.get(), 0));
}

// The name of the module whose code runs in the frame; null if its globals have none.
Ref module_of_frame(PyFrameObject* frame) {
  static PyObject* const kName = PyUnicode_InternFromString("__name__");
  Ref globals = Ref::steal(PyFrame_GetGlobals(frame));
  PyObject* name = globals && PyDict_Check(globals.get()) ? PyDict_GetItemWithError(globals, kName) : nullptr;
  if (name == nullptr) PyErr_Clear();
  return name != nullptr && PyUnicode_Check(name) ? Ref::share(name) : Ref();
}

bool is_of_python(BorrowedRef package) {
  PyObject* names = PySys_GetObject("stdlib_module_names");
  return names != nullptr && PyUnicode_CompareWithASCIIString(package, "__main__") != 0 &&
         PySequence_Contains(names, package) == 1;
}

}  // namespace

bool came_from_library(BorrowedRef exception, BorrowedRef function) {
  Ref module = name_of_module(function);
  if (!module) module = name_of_module(reinterpret_cast<PyObject*>(function.type()));
  if (!module) return false;
  Ref library = package_of(module);
  Ref traceback = Ref::steal(PyException_GetTraceback(exception));
  for (PyObject* at = traceback; at != nullptr && at != Py_None;) {
    auto* entry = reinterpret_cast<PyTracebackObject*>(at);
    Ref name = module_of_frame(entry->tb_frame);
    if (!name) return false;
    Ref package = package_of(name);
    bool is_known = PyUnicode_Compare(package, library) == 0 || is_of_python(package) ||
                    PyUnicode_CompareWithASCIIString(package, "minidynamo") == 0;
    if (!is_known) return false;
    at = reinterpret_cast<PyObject*>(entry->tb_next);
  }
  return true;
}

void add_traceback_entry(const char* file, int line, const char* function) {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  Ref globals = Ref::steal(PyDict_New());
  Ref code = Ref::steal(reinterpret_cast<PyObject*>(PyCode_NewEmpty(file, function, line)));
  Ref frame;
  if (globals && code)
    frame = Ref::steal(reinterpret_cast<PyObject*>(
        PyFrame_New(PyThreadState_Get(), reinterpret_cast<PyCodeObject*>(code.get()), globals, nullptr)));
  PyErr_Clear();  // out of memory: leave the entry out
  PyErr_Restore(type, value, traceback);
  if (frame) PyTraceBack_Here(reinterpret_cast<PyFrameObject*>(frame.get()));
}

}  // namespace md
