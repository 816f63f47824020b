#include "frontends/memory_format_object.h"

#include <string>

#include "base/error.h"
#include "tensor/shapes/memory_format.h"

namespace md {
namespace {

struct MemoryFormatObject {
  PyObject_HEAD std::string_view name;
};

PyObject* format_repr(PyObject* self) {
  return PyUnicode_FromFormat("minidynamo.%s", std::string(memory_format_name(self)).c_str());
}

// copy and pickle find the singleton by its name.
PyObject* format_reduce(PyObject* self, PyObject*) {
  return PyUnicode_FromString(std::string(memory_format_name(self)).c_str());
}

PyMethodDef format_methods[] = {
    {"__reduce__", format_reduce, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyTypeObject* make_type() {
  static PyTypeObject type;  // zero-initialised
  Py_SET_REFCNT(reinterpret_cast<PyObject*>(&type), 1);
  type.tp_name = "minidynamo.memory_format";
  type.tp_basicsize = sizeof(MemoryFormatObject);
  type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION;
  type.tp_doc = "In which order the dims of a tensor lie in memory.";
  type.tp_repr = format_repr;
  type.tp_methods = format_methods;
  check_status(PyType_Ready(&type));
  return &type;
}

// One object per row of kMemoryFormats, never freed.
const std::array<PyObject*, kMemoryFormats.size()>& format_objects() {
  static const auto objects = [] {
    std::array<PyObject*, kMemoryFormats.size()> made{};
    for (size_t i = 0; i < made.size(); ++i) {
      made[i] = check(memory_format_type()->tp_alloc(memory_format_type(), 0)).release();
      reinterpret_cast<MemoryFormatObject*>(made[i])->name = kMemoryFormats[i].name;
    }
    return made;
  }();
  return objects;
}

}  // namespace

PyTypeObject* memory_format_type() {
  static PyTypeObject* type = make_type();
  return type;
}

BorrowedRef memory_format_object(std::string_view name) {
  for (PyObject* object : format_objects()) {
    if (memory_format_name(object) == name) return object;
  }
  return {};
}

std::string_view memory_format_name(BorrowedRef object) {
  if (object.type() != memory_format_type()) return {};
  return reinterpret_cast<MemoryFormatObject*>(object.get())->name;
}

}  // namespace md
