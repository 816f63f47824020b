// Setting and deleting attributes of pre-existing classes: effects, as for other objects.
//   1. A written class is guarded by identity: its pending writes are found by the class object, whichever value
//      represents it.
//   2. Special names (__eq__, __call__) are refused: the trace does not follow what they change.
#include <algorithm>

#include "cpython/object_layout.h"
#include "guards/guard_set.h"
#include "symbolic/attributes/attributes.h"
#include "symbolic/breaks/break_reason.h"
#include "symbolic/breaks/outcomes.h"
#include "symbolic/effects/finalizers.h"
#include "symbolic/facts/class_relations.h"
#include "symbolic/facts/value_facts.h"

namespace md {

namespace {

// Returns true if type's own __setattr__ stores the attribute in the class's own dict.
bool has_plain_store(Tracer& tracer, const ValuePtr& value, BorrowedRef name) {
  PyTypeObject* type = class_in(value);
  if (!may_change(type) || as<ObjectValue>(value)->source == nullptr || is_special_name(name)) return false;
  PyTypeObject* metatype = tracer.values().exact_type(value);
  if (metatype->tp_setattro != PyType_Type.tp_setattro) return false;
  if (metatype != &PyType_Type && !inherits(tracer, value, &PyType_Type, {"__setattr__", "__delattr__"})) return false;
  ValuePtr meta = type_attribute(tracer, value, name);
  return !meta;
}

}  // namespace

bool class_store(Tracer& tracer, const ValuePtr& value, BorrowedRef name, const ValuePtr& stored) {
  // Reads through a class's __dict__ do not see pending writes.
  if (tracer.effects().shows_class_dict() || !has_plain_store(tracer, value, name)) return false;
  tracer.values().identity_of(value);
  PyTypeObject* type = class_in(value);
  auto same = std::ranges::find_if(tracer.effects().written_classes(),
                                   [&](const ValuePtr& each) { return class_in(each) == type; });
  auto* known = as<ObjectValue>(value);
  if (same != tracer.effects().written_classes().end()) known->writes = as<ObjectValue>(*same)->writes;
  const ValuePtr* before = known->writes ? known->writes->find(name) : nullptr;
  // Only names stored in this region can be deleted: the class's own names are not guarded one by one.
  if (!stored && (before == nullptr || !*before)) return false;
  PyObject* old = nullptr;
  if (pv_own_attribute(type, name, &old) < 0) return false;
  leave_finalizer_to_python(tracer, old);
  if (!known->writes) tracer.effects().add_written_class(value, tracer.step_number());
  known->writes->stores.emplace_back(Ref::share(name), stored);
  tracer.effects().log_store(stored ? EffectKind::AttributeSet : EffectKind::AttributeDelete, value, name, stored);
  return true;
}

std::optional<ValuePtr> written_on_class(Tracer& tracer, const ValuePtr& value, BorrowedRef name) {
  PyTypeObject* type = class_in(value);
  for (const ValuePtr& each : tracer.effects().written_classes()) {
    const ValuePtr* stored = as<ObjectValue>(each)->writes->find(name);
    if (stored == nullptr || !derives_from(tracer, value, class_in(each))) continue;
    // Whether a subclass finds this attribute or another one first may change from run to run.
    if (class_in(each) != type)
      graph_break(BreakReason::custom_attribute_lookup, "an attribute of a base that is written to");
    if (*stored) return *stored;
    const Source* behind = tracer.sources().get(SourceKind::SuperAttr, as<ObjectValue>(each)->source, name, 1);
    ValuePtr found = value_at(tracer, behind);
    if (!found) tracer.guards().absent(behind);
    return found;
  }
  return std::nullopt;
}

}  // namespace md
