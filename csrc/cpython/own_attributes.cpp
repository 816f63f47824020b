#include "cpython/own_attributes.h"

namespace md {

bool is_behind_descriptor(BorrowedRef object, BorrowedRef name) {
  PyObject* found = _PyType_Lookup(object.type(), name);
  if (found == nullptr || Py_TYPE(found)->tp_descr_set == nullptr) return false;
  return Py_IS_TYPE(found, &PyProperty_Type) || PyType_HasFeature(Py_TYPE(found), Py_TPFLAGS_HEAPTYPE);
}

Ref own_attribute(BorrowedRef object, BorrowedRef name) {
  if (is_behind_descriptor(object, name)) {
    Ref dict = check(PyObject_GenericGetDict(object, nullptr));
    return Ref::share(PyDict_GetItemWithError(dict, name));
  }
  Ref value = Ref::steal(PyObject_GenericGetAttr(object, name));
  if (!value) PyErr_Clear();
  return value;
}

void set_own_attribute(BorrowedRef object, BorrowedRef name, BorrowedRef value) {
  if (!is_behind_descriptor(object, name)) return check_status(PyObject_GenericSetAttr(object, name, value));
  Ref dict = check(PyObject_GenericGetDict(object, nullptr));
  check_status(value ? PyDict_SetItem(dict, name, value) : PyDict_DelItem(dict, name));
}

}  // namespace md
