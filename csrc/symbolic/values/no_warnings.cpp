#include "symbolic/values/no_warnings.h"

#include <utility>

#include "cpython/imports.h"

namespace md {

namespace {

thread_local NoWarnings* current = nullptr;

// Number of such scopes in all threads.
int scopes = 0;
// The real warnings.warn. Never released: other code may keep our replacement and call it later.
PyObject* original = nullptr;

// Null if the module was never imported.
PyObject* module() {
  static PyObject* const kName = PyUnicode_InternFromString("warnings");
  static PyObject* loaded = nullptr;
  if (PyObject* now = PyImport_GetModule(kName)) Py_XSETREF(loaded, now);
  PyErr_Clear();
  return loaded;
}

}  // namespace

PyObject* hold_back_warning() {
  current->met_ = true;
  if (current->instead_ == NoWarnings::Instead::Return) Py_RETURN_NONE;
  PyErr_SetString(PyExc_RuntimeError, "a warning ahead of its time");
  return nullptr;
}

namespace {

PyObject* warn(PyObject*, PyObject* args, PyObject* keywords) {
  if (current != nullptr) return hold_back_warning();
  if (original == nullptr) Py_RETURN_NONE;
  return PyObject_Call(original, args, keywords);
}

// Null with an exception if there is no memory for it. Does not throw: the destructor calls it.
PyObject* stand_in() {
  static PyMethodDef definition = {"warn", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(warn)),
                                   METH_VARARGS | METH_KEYWORDS, nullptr};
  static PyObject* function = nullptr;
  if (function == nullptr) function = PyCFunction_New(&definition, nullptr);
  return function;
}

}  // namespace

NoWarnings::NoWarnings(Instead instead) : outer_(std::exchange(current, this)), instead_(instead) {
  if (scopes++ > 0) return;
  Ref warn = stand_in() != nullptr ? Ref::steal(PyObject_GetAttrString(module(), "warn")) : Ref();
  bool is_set = warn && PyObject_SetAttrString(module(), "warn", stand_in()) == 0;
  if (!is_set) PyErr_Clear();
  if (is_set && warn.get() != stand_in()) Py_XSETREF(original, warn.release());
}

NoWarnings::~NoWarnings() {
  current = outer_;
  if (--scopes > 0) return;
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  Ref now = Ref::steal(PyObject_GetAttrString(module(), "warn"));
  if (now.get() == stand_in() && original != nullptr) PyObject_SetAttrString(module(), "warn", original);
  PyErr_Restore(type, value, traceback);
}

}  // namespace md
