#include "frontends/named_objects.h"

#include <string>

#include "base/error.h"

namespace md {
namespace {

struct NamedObject {
  PyObject_HEAD std::string_view name;
};

std::string_view text_in(PyObject* self) { return reinterpret_cast<NamedObject*>(self)->name; }

PyObject* named_repr(PyObject* self) {
  return PyUnicode_FromFormat("minidynamo.%s", std::string(text_in(self)).c_str());
}

PyObject* named_reduce(PyObject* self, PyObject*) { return PyUnicode_FromString(std::string(text_in(self)).c_str()); }

PyMethodDef named_methods[] = {
    {"__reduce__", named_reduce, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyTypeObject* make_type(const char* name, const char* doc) {
  auto* type = new PyTypeObject{};
  Py_SET_REFCNT(reinterpret_cast<PyObject*>(type), 1);
  type->tp_name = name;
  type->tp_basicsize = sizeof(NamedObject);
  type->tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION;
  type->tp_doc = doc;
  type->tp_repr = named_repr;
  type->tp_methods = named_methods;
  check_status(PyType_Ready(type));
  return type;
}

}  // namespace

NamedObjects::NamedObjects(const char* type_name, const char* doc, std::span<const std::string_view> names)
    : type_(make_type(type_name, doc)) {
  for (std::string_view name : names) {
    objects_.push_back(check(type_->tp_alloc(type_, 0)).release());
    reinterpret_cast<NamedObject*>(objects_.back())->name = name;
  }
}

BorrowedRef NamedObjects::object(std::string_view name) const {
  for (PyObject* object : objects_) {
    if (text_in(object) == name) return object;
  }
  return {};
}

std::string_view NamedObjects::name_of(BorrowedRef object) const {
  return object.type() == type_ ? text_in(object) : std::string_view{};
}

}  // namespace md
