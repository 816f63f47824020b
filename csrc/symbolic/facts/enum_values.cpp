#include "symbolic/facts/enum_values.h"

#include "bytecode/binary_operators.h"
#include "cpython/imports.h"
#include "snapshot/operator_methods.h"
#include "symbolic/attributes/attributes.h"
#include "symbolic/facts/user_keys.h"
#include "symbolic/facts/value_facts.h"

namespace md {

namespace {

// The built-in base of an enum member; null if the value is not such a member.
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

// Each _value_ belongs to one member of the class, so the number or text determines the member.
bool is_its_value(BorrowedRef member, BorrowedRef plain, PyTypeObject* base) {
  if (!Py_IS_TYPE(plain.get(), base)) return false;
  Ref equal = Ref::steal(base->tp_richcompare(member, plain, Py_EQ));
  PyErr_Clear();
  return equal.get() == Py_True;
}

}  // namespace

ValuePtr plain_value(Tracer& tracer, const ValuePtr& value, std::initializer_list<const char*> methods) {
  static PyObject* const kValue = PyUnicode_InternFromString("_value_");
  PyTypeObject* base = base_of_member(value);
  if (base == nullptr) return nullptr;
  auto* member = as<ObjectValue>(value);
  ValuePtr plain = value_at(tracer, tracer.sources().get(SourceKind::InstanceAttr, member->source, kValue));
  auto* known = as<ObjectValue>(plain);
  if (known == nullptr || !is_its_value(member->object.get(), known->object.get(), base)) return nullptr;
  tracer.values().exact_type(value);
  if (!inherits(tracer, value, base, methods)) return nullptr;
  return constant_of(tracer, plain) ? plain : nullptr;
}

ValuePtr plain_or_itself(Tracer& tracer, const ValuePtr& value, std::initializer_list<const char*> methods) {
  ValuePtr plain = plain_value(tracer, value, methods);
  return plain ? plain : value;
}

Ref member_text(Tracer& tracer, const ValuePtr& value) {
  static PyObject* const kStr = PyUnicode_InternFromString("__str__");
  PyTypeObject* base = base_of_member(value);
  ValuePtr plain = base != nullptr ? plain_value(tracer, value, {}) : nullptr;
  ValuePtr found = plain ? type_attribute(tracer, value, kStr) : nullptr;
  auto* method = as<ObjectValue>(found);
  if (method == nullptr) return nullptr;
  // str defines __str__; int and float use __repr__.
  const char* shown = base == &PyUnicode_Type ? "__str__" : "__repr__";
  PyObject* own = _PyType_Lookup(base, check(PyUnicode_InternFromString(shown)));
  if (method->object.get() != own) return nullptr;
  if (method->source != nullptr) tracer.values().identity_of(type_attribute(tracer, value, kStr));
  return check(PyObject_Str(constant_of(tracer, plain)));
}

void open_members(Tracer& tracer, const Instruction& at, ValuePtr& left, ValuePtr& right) {
  OperatorMethods names = operator_methods(at);
  // text % member calls the member's own __str__ or __format__.
  bool is_text = type_of(left) == &PyUnicode_Type || type_of(left) == &PyBytes_Type ||
                 (type_of(left) != nullptr && PyType_IsSubtype(type_of(left), &PyUnicode_Type));
  if (at.op == Opcode::BINARY_OP && is_text && binary_operator(at.arg).code == BinaryCode::Remainder) return;
  const char* reflected = names.reflected != nullptr ? names.reflected : names.plain;
  const char* plain = names.plain != nullptr ? names.plain : reflected;
  if (plain == nullptr) return;
  auto opened = [&](const ValuePtr& side) {
    return has_user_type(side) ? plain_or_itself(tracer, side, {plain, reflected}) : side;
  };
  ValuePtr of_left = opened(left), of_right = opened(right);
  // A method in Python must receive the member itself.
  if ((has_user_type(left) && of_left == left) || (has_user_type(right) && of_right == right)) return;
  left = std::move(of_left);
  right = std::move(of_right);
}

Ref lookup_key(Tracer& tracer, const ValuePtr& container, const ValuePtr& key) {
  return key_in(tracer, container, has_user_type(key) ? plain_or_itself(tracer, key, {"__hash__", "__eq__"}) : key);
}

}  // namespace md
