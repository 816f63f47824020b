#include "symbolic/enum_values.h"

#include "cpython/imports.h"

namespace md {

namespace {

// What a member is beside being a member; null: nothing of these.
PyTypeObject* base_of_member(const ValuePtr& value) {
  static PyObject* const enum_class = imported("enum", "Enum").release();
  auto* object = as<ObjectValue>(value);
  if (object == nullptr || object->source == nullptr) return nullptr;
  PyTypeObject* type = object->object.type();
  if (!PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) ||
      !PyType_IsSubtype(type, reinterpret_cast<PyTypeObject*>(enum_class)))
    return nullptr;
  for (PyTypeObject* base : {&PyLong_Type, &PyUnicode_Type, &PyFloat_Type})
    if (PyType_IsSubtype(type, base)) return base;
  return nullptr;
}

// The members of one class with one _value_ are one object.
bool is_its_value(BorrowedRef member, BorrowedRef plain, PyTypeObject* base) {
  if (!Py_IS_TYPE(plain.get(), base)) return false;
  Ref equal = Ref::steal(base->tp_richcompare(member, plain, Py_EQ));
  PyErr_Clear();
  return equal.get() == Py_True;
}

}  // namespace

ValuePtr plain_value(Walk& walk, const ValuePtr& value, std::initializer_list<const char*> methods) {
  static PyObject* const kValue = PyUnicode_InternFromString("_value_");
  PyTypeObject* base = base_of_member(value);
  if (base == nullptr) return nullptr;
  auto* member = as<ObjectValue>(value);
  ValuePtr plain = walk.at(walk.sources().get(SourceKind::InstanceAttr, member->source, kValue));
  auto* known = as<ObjectValue>(plain);
  if (known == nullptr || !is_its_value(member->object.get(), known->object.get(), base)) return nullptr;
  walk.exact_type(value);
  if (!walk.inherits(value, base, methods)) return nullptr;
  return walk.constant_of(plain) ? plain : nullptr;
}

ValuePtr plain_or_itself(Walk& walk, const ValuePtr& value, std::initializer_list<const char*> methods) {
  ValuePtr plain = plain_value(walk, value, methods);
  return plain ? plain : value;
}

}  // namespace md
