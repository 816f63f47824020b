// Weak references: creating and following them, and look-ups by them in a dict (weakref.WeakKeyDictionary).
//   1. Following one requires that the object has not died since the region's start: if the region may have dropped an
//      object that existed then, the interpreter follows it, unless something that the region has not written still
//      holds this one.
//   2. The reference without a callback to a pre-existing object is one shared object, created once by Python: the
//      trace uses it.
//   3. One to an object created in the trace is followed while a local of a running frame holds the object.
#include <algorithm>

#include "cpython/weak_reference.h"
#include "guards/constants.h"
#include "guards/guard_set.h"
#include "guards/weak_keys.h"
#include "symbolic/breaks/break_reason.h"
#include "symbolic/breaks/outcomes.h"
#include "symbolic/exceptions/exceptions.h"
#include "symbolic/facts/value_facts.h"
#include "symbolic/facts/weak_references.h"
#include "symbolic/trace/registry.h"
#include "symbolic/trace/tracer.h"

namespace md {

namespace {

bool is_dropped(const ValuePtr& value, const std::vector<ValuePtr>& held) {
  auto* object = as<ObjectValue>(value);
  bool may_hold = object != nullptr && !is_guardable_constant(object->object.get());
  return may_hold && std::ranges::find(held, value) == held.end();
}

// Returns true if the object outlives the trace and is the same in the region: not the model of a traced class, nor an
// object that the trace built from constants.
bool stays(const ObjectValue& value) {
  BorrowedRef object = value.object.get();
  if (is_guardable_constant(object)) return false;
  bool is_static_type = PyType_Check(object.get()) &&
                        !PyType_HasFeature(reinterpret_cast<PyTypeObject*>(object.get()), Py_TPFLAGS_HEAPTYPE);
  return value.source != nullptr || is_static_type;
}

ValuePtr reference_to_made(Tracer& tracer, const ValuePtr& of) {
  for (const Handle<ConstructedValue>& known : tracer.keys().made_references())
    if (known->positional[0] == of) return known;
  auto made = make_value<ConstructedValue>(tracer.values().constant(reinterpret_cast<PyObject*>(&_PyWeakref_RefType)),
                                           std::vector<ValuePtr>{of}, std::vector<std::pair<Ref, ValuePtr>>{});
  made->creation_step = tracer.step_number();
  tracer.keys().made_references().push_back(made);
  return made;
}

bool is_local(const Tracer& tracer, const ValuePtr& value) {
  auto holds = [&](const ValuePtr& slot) {
    auto* cell = as<CellValue>(slot);
    return slot == value || (cell != nullptr && cell->contents == value);
  };
  return std::ranges::any_of(tracer.frames(),
                             [&](const auto& frame) { return std::ranges::any_of(frame->slots, holds); });
}

bool holds_strongly(SourceKind kind) {
  static constexpr SourceKind kKinds[] = {SourceKind::InstanceAttr, SourceKind::CellContents, SourceKind::Closure,
                                          SourceKind::Item,         SourceKind::DictItem,     SourceKind::Global};
  return std::ranges::find(kKinds, kind) != std::end(kKinds);
}

// Whether all that leads to the object is as it was at the region's start, and begins at what the frame holds now.
bool is_still_held(const Tracer& tracer, const Source* source) {
  for (; source->base() != nullptr; source = source->base()) {
    if (source->kind() == SourceKind::Global && tracer.effects().any_dict_written()) return false;
    const ValuePtr holder = tracer.values().find(source->base());
    auto* object = as<ObjectValue>(holder);
    auto* cell = as<CellValue>(holder);
    bool is_written = (object != nullptr && object->writes) || (cell != nullptr && cell->stored);
    if (!holds_strongly(source->kind()) || is_written) return false;
  }
  if (source->kind() == SourceKind::Global) return !tracer.effects().any_dict_written();
  const ValuePtr root = tracer.values().find(source);
  return source->kind() == SourceKind::Function ||
         (source->kind() == SourceKind::Local && root && is_local(tracer, root));
}

// Whether the value is this object, found at this source.
bool is_object_at(const ValuePtr& value, PyObject* wanted, const Source* source) {
  auto is_it = [&](const auto* found) {
    return found != nullptr && found->object.get() == wanted && found->source == source;
  };
  return is_it(as<ObjectValue>(value)) || is_it(as<TensorValue>(value));
}

// The value of the referent that something else holds; null if none is known to.
ValuePtr held_referent(Tracer& tracer, const ObjectValue& reference) {
  bool may_have_run = tracer.outputs().has_output() || tracer.graph().has_host_call() || tracer.entry().has_returned();
  if (may_have_run || reference.source == nullptr) return nullptr;
  PyObject* referent = referent_of(reference.object);
  const Source* first = nullptr;
  for (const auto& [source, value] : tracer.values().by_source()) {
    if (is_object_at(value, referent, source) && (first == nullptr || source->id() < first->id()) &&
        is_still_held(tracer, source))
      first = source;
  }
  if (first == nullptr) return nullptr;
  tracer.guards().alias(tracer.sources().get(SourceKind::Referent, reference.source, nullptr), first, true);
  return tracer.values().find(first);
}

// weakref.ref(object), weakref.ref(object, callback)
ValuePtr make_reference(Tracer& tracer, const CallArgs& args) {
  require_count(args, 1, 2);
  const ValuePtr& of = args.positional[0];
  bool is_made = args.positional.size() == 1 && (of->kind == ValueKind::Instance || of->kind == ValueKind::Function);
  if (is_made && exception_of(of) == nullptr && PyType_SUPPORTS_WEAKREFS(type_of(of)))
    return reference_to_made(tracer, of);
  PyTypeObject* type = tracer.values().exact_type(of);
  if (!PyType_SUPPORTS_WEAKREFS(type))
    raise_known(tracer, PyExc_TypeError,
                {tracer.values().string(str_cat("cannot create weak reference to '", type->tp_name, "' object"))});
  auto* object = as<ObjectValue>(of);
  bool is_known = object != nullptr && stays(*object);
  if (!is_known) graph_break(BreakReason::object_creation, "a weak reference");
  BorrowedRef referent = tracer.values().identity_of(of);
  Ref reference = check(PyWeakref_NewRef(referent.get(), nullptr));
  bool has_callback = args.positional.size() == 2 && !same_object(tracer, args.positional[1], tracer.values().none());
  tracer.keys().note_reference(reference, of);
  if (!has_callback) return tracer.values().constant(reference);
  auto made = make_value<ConstructedValue>(tracer.values().constant(reinterpret_cast<PyObject*>(&_PyWeakref_RefType)),
                                           args.positional, std::vector<std::pair<Ref, ValuePtr>>{});
  made->model = reference;
  return made;
}

}  // namespace

bool may_have_dropped(const Tracer& tracer) {
  if (tracer.effects().any() || tracer.entry().has_returned()) return true;
  const std::vector<ValuePtr>& held = tracer.frames().root().slots;
  auto dropped = [&](const ValuePtr& value) { return is_dropped(value, held); };
  return std::ranges::any_of(tracer.entry().slots(), dropped) || std::ranges::any_of(tracer.entry().stack(), dropped);
}

ValuePtr follow_made_reference(Tracer& tracer, const ConstructedValue& reference, const CallArgs& args) {
  if (!args.is_empty()) raise_here();
  if (reference.model || !is_local(tracer, reference.positional[0]))
    graph_break(BreakReason::unknown_callable, "a weak reference to an object that may have died");
  return reference.positional[0];
}

ValuePtr call_weak_reference(Tracer& tracer, const ValuePtr& callable, const CallArgs& args) {
  auto* object = as<ObjectValue>(callable);
  if (object == nullptr || tracer.values().exact_type(callable)->tp_call != _PyWeakref_RefType.tp_call ||
      !args.is_empty())
    graph_break(BreakReason::unknown_callable, describe(callable));
  if (may_have_dropped(tracer)) {
    if (ValuePtr held = held_referent(tracer, *object)) return held;
    graph_break(BreakReason::unknown_callable, describe(callable));
  }
  if (ValuePtr known = tracer.keys().referent_of(object->object)) return known;
  if (object->source == nullptr) graph_break(BreakReason::unguardable_object, "a weak reference");
  const Source* source = tracer.sources().get(SourceKind::Referent, object->source, nullptr);
  tracer.guards().present(source);
  return value_at(tracer, source);
}

Ref weak_key_of(Tracer& tracer, const ValuePtr& value) {
  auto* made = as<ConstructedValue>(value);
  auto* object = as<ObjectValue>(value);
  Ref reference = made != nullptr ? made->model : object != nullptr ? object->object : Ref();
  bool is_known = reference && tracer.keys().referent_of(reference) && is_plain_weak_key(reference);
  if (!is_known) return nullptr;
  if (made != nullptr) {
    tracer.keys().set(reference.get(), value);
  } else {
    tracer.keys().add(reference, value);
  }
  return reference;
}

ValuePtr weak_item(Tracer& tracer, const ValuePtr& dict, BorrowedRef reference) {
  auto* object = as<ObjectValue>(dict);
  PyObject* found = nullptr;
  bool is_plain = tracer.values().exact_type(dict) == &PyDict_Type && object->source != nullptr;
  int status = is_plain ? lookup_weak_key(object->object, reference, &found) : -1;
  if (status < 0) graph_break(BreakReason::unhashable_key, "a weak reference");
  BorrowedRef referent = referent_of(reference);
  const Source* source = tracer.sources().weak_item(object->source, referent);
  if (status == 0) {
    tracer.guards().absent(source);
    return nullptr;
  }
  tracer.guards().present(source);
  return value_at(tracer, source, Ref::share(found));
}

namespace {

void add_weak_reference_calls() { register_call(reinterpret_cast<PyObject*>(&_PyWeakref_RefType), make_reference); }

const CallRegistration call_registration(add_weak_reference_calls);

}  // namespace

}  // namespace md
