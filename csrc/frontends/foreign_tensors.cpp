#include "frontends/foreign_tensors.h"

#include "base/error.h"
#include "cpython/text.h"
#include "guards/tensor_family.h"

namespace md {

bool is_foreign_tensor(BorrowedRef value) {
  static PyObject* const kDlpack = PyUnicode_InternFromString("__dlpack__");
  PyTypeObject* type = value.type();
  // Built-in types have no such method.
  if (!PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) && PyObject_CheckBuffer(value.get()) == 0) return false;
  if (_PyType_Lookup(type, kDlpack) == nullptr) return false;
  for (PyTypeObject* base = type; base != nullptr; base = base->tp_base)
    if (find_family(base) == &default_family()) return false;
  return true;
}

Tensor own_tensor(BorrowedRef object) {
  const TensorFamily* family = family_of(object);
  return family == &default_family() ? hold(*family, object) : Tensor();
}

std::string full_type_name(BorrowedRef value) {
  PyTypeObject* type = value.type();
  Ref module = Ref::steal(PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), "__module__"));
  if (!module) PyErr_Clear();
  std::string name = type->tp_name;
  bool qualified = name.find('.') != std::string::npos || !module || !PyUnicode_Check(module.get());
  return qualified ? name : text_of(module) + "." + name;
}

void raise_foreign_tensor(const std::string& op, BorrowedRef value) {
  std::string name = full_type_name(value);
  raise(ErrorKind::Type, op, "(): expected a minidynamo.Tensor, got a ", name,
        ": the two do not mix, minidynamo.from_dlpack() makes the one of the other");
}

void raise_no_tensor(const std::string& op, const char* argument, BorrowedRef value) {
  if (is_foreign_tensor(value)) raise_foreign_tensor(op, value);
  raise(ErrorKind::Type, op, "(): argument '", argument, "' must be Tensor, not ", value.type()->tp_name);
}

void refuse_foreign_tensors(const std::string& op, std::span<PyObject* const> values) {
  for (PyObject* value : values) {
    if (is_foreign_tensor(value)) raise_foreign_tensor(op, value);
    if (!PyTuple_Check(value) && !PyList_Check(value)) continue;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value); ++i) {
      PyObject* item = PySequence_Fast_GET_ITEM(value, i);
      if (is_foreign_tensor(item)) raise_foreign_tensor(op, item);
    }
  }
}

}  // namespace md
