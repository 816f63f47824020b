#include "eval_frame/dict_shadow.h"

namespace md {

namespace {

constexpr int kDeepestKey = 16;

bool is_python_function(PyTypeObject* type, const char* name) {
  Ref text = check(PyUnicode_InternFromString(name));
  PyObject* found = _PyType_Lookup(type, text);
  return found != nullptr && PyFunction_Check(found);
}

bool asks_program(BorrowedRef key, int depth = 0) {
  if (PyFrozenSet_CheckExact(key.get())) return true;
  if (PyTuple_CheckExact(key.get())) {
    if (depth == kDeepestKey) return true;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(key.get()); ++i)
      if (asks_program(PyTuple_GET_ITEM(key.get(), i), depth + 1)) return true;
    return false;
  }
  if (!PyType_HasFeature(key.type(), Py_TPFLAGS_HEAPTYPE)) return false;
  return is_python_function(key.type(), "__hash__") || is_python_function(key.type(), "__eq__");
}

// Paired with our own sentinel, an address cannot equal a key of the program.
Ref token_of(BorrowedRef key) {
  if (!asks_program(key)) return Ref::share(key);
  static PyObject* const sentinel =
      check(PyObject_CallNoArgs(reinterpret_cast<PyObject*>(&PyBaseObject_Type))).release();
  Ref address = check(PyLong_FromVoidPtr(key.get()));
  return check(PyTuple_Pack(2, sentinel, address.get()));
}

}  // namespace

Ref items_of_dict(BorrowedRef dict) {
  if (!PyODict_Check(dict.get())) return check(PyDict_Items(dict));
  Ref items = check(PyObject_CallMethod(reinterpret_cast<PyObject*>(&PyODict_Type), "items", "O", dict.get()));
  return check(PySequence_List(items));
}

DictShadow::DictShadow(BorrowedRef dict) : pairs_(check(PyDict_New())) {
  Ref items = items_of_dict(dict);
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(items.get()); ++i) {
    PyObject* pair = PyList_GET_ITEM(items.get(), i);
    check_status(PyDict_SetItem(pairs_, token_of(PyTuple_GET_ITEM(pair, 0)), pair));
  }
}

void DictShadow::set(BorrowedRef key, BorrowedRef value) {
  Ref token = token_of(key);
  PyObject* before = PyDict_GetItemWithError(pairs_, token);
  check_status(PyErr_Occurred() != nullptr ? -1 : 0);
  Ref pair = check(PyTuple_Pack(2, before != nullptr ? PyTuple_GET_ITEM(before, 0) : key.get(), value.get()));
  check_status(PyDict_SetItem(pairs_, token, pair));
}

void DictShadow::erase(BorrowedRef key) { check_status(PyDict_DelItem(pairs_, token_of(key))); }

}  // namespace md
