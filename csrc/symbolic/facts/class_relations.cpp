#include "symbolic/facts/class_relations.h"

#include "cpython/library_types.h"
#include "guards/guard_set.h"
#include "symbolic/attributes/attributes.h"
#include "symbolic/values/traced_class.h"

namespace md {

namespace {

// Returns true if the object layout shows that a class derives from this base: assigning __bases__ cannot change that.
bool is_fixed_by_layout(const PyTypeObject* base) {
  bool is_static = (base->tp_flags & Py_TPFLAGS_HEAPTYPE) == 0;
  return is_static && base->tp_basicsize > PyBaseObject_Type.tp_basicsize &&
         (base->tp_flags & Py_TPFLAGS_BASE_EXC_SUBCLASS) == 0;
}

}  // namespace

void guard_mro(Tracer& tracer, const ValuePtr& type) {
  auto* known = as<ObjectValue>(type);
  if (known->traced_class) {
    for (const ValuePtr& base : tracer.classes().find(known->object)->base_classes) guard_mro(tracer, base);
    return;
  }
  PyTypeObject* now = class_in(type);
  if (known->source != nullptr && may_change(now) && now->tp_mro != nullptr) tracer.guards().mro(known->source, now);
}

bool derives_from(Tracer& tracer, const ValuePtr& type, PyTypeObject* base) {
  PyTypeObject* derived = class_in(type);
  if (derived == base || base == &PyBaseObject_Type) return true;
  if (!is_fixed_by_layout(base)) guard_mro(tracer, type);
  return PyType_IsSubtype(derived, base) != 0;
}

bool is_object_of(Tracer& tracer, const ValuePtr& value, PyTypeObject* base) {
  PyTypeObject* type = tracer.values().exact_type(value);
  if (type == base || !may_change(type)) return PyType_IsSubtype(type, base) != 0;
  return derives_from(tracer, type_value(tracer, value), base);
}

bool has_python_class(const ValuePtr& value) {
  bool is_container = value->kind == ValueKind::Sequence || value->kind == ValueKind::Dict;
  return has_user_type(value) || (is_container && PyType_HasFeature(type_of(value), Py_TPFLAGS_HEAPTYPE));
}

bool is_callable(Tracer& tracer, const ValuePtr& value) {
  static PyObject* const kCall = PyUnicode_InternFromString("__call__");
  PyTypeObject* type = tracer.values().exact_type(value);
  if (may_change(type)) type_attribute(tracer, value, kCall);
  return type->tp_call != nullptr;
}

bool is_made_union(const ValuePtr& value) {
  return value->kind == ValueKind::Constructed && type_of(value) == union_type();
}

bool matches_pattern(Tracer& tracer, const ValuePtr& value, unsigned long flag) {
  PyTypeObject* type = tracer.values().exact_type(value);
  ValuePtr class_value = may_change(type) ? type_value(tracer, value) : nullptr;
  auto* known = as<ObjectValue>(class_value);
  if (known != nullptr && known->source != nullptr) tracer.guards().match_flags(known->source, type);
  return PyType_HasFeature(type, flag) != 0;
}

}  // namespace md
