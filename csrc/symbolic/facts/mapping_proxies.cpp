// mappingproxy: operations are forwarded to the underlying mapping. Reading __dict__ of a class creates a new proxy of
// the class's own dict.
#include "symbolic/facts/mapping_proxies.h"

#include <algorithm>
#include "cpython/object_layout.h"
#include "guards/object_fields.h"
#include "symbolic/attributes/attributes.h"
#include "symbolic/breaks/break_reason.h"
#include "symbolic/breaks/outcomes.h"
#include "symbolic/calls/calls.h"
#include "symbolic/calls/polyfills.h"
#include "symbolic/calls/user_operators.h"
#include "symbolic/effects/pending_writes.h"
#include "symbolic/facts/value_facts.h"
#include "symbolic/trace/registry.h"
#include "symbolic/trace/tracer.h"

namespace md {

namespace {

ValuePtr proxy_of(Tracer& tracer, const ValuePtr& mapping) {
  return make_value<ConstructedValue>(tracer.values().constant(reinterpret_cast<PyObject*>(&PyDictProxy_Type)),
                                      std::vector<ValuePtr>{mapping}, std::vector<std::pair<Ref, ValuePtr>>{});
}

// types.MappingProxyType(mapping): of a dict, or of another proxy.
ValuePtr make_proxy(Tracer& tracer, const CallArgs& args) {
  if (args.positional.size() != 1 || !args.keywords.empty()) raise_here();
  PyTypeObject* type = tracer.values().exact_type(args.positional[0]);
  if (!PyType_IsSubtype(type, &PyDict_Type) && type != &PyDictProxy_Type)
    graph_break(BreakReason::object_creation, "a mappingproxy of " + describe(args.positional[0]));
  return proxy_of(tracer, args.positional[0]);
}

// Calls the mapping's method of the same name.
ValuePtr call_on_mapping(Tracer& tracer, const CallArgs& args, const char* name) {
  if (args.positional.empty()) raise_here();
  const ValuePtr mapping = behind_proxy(tracer, args.positional[0]);
  if (mapping == args.positional[0]) graph_break(BreakReason::builtin_call, str_cat(name, " of ", describe(mapping)));
  CallArgs rest{{args.positional.begin() + 1, args.positional.end()}, args.keywords};
  return call_now(tracer, attribute(tracer, mapping, check(PyUnicode_InternFromString(name))), std::move(rest));
}

ValuePtr proxy_get(Tracer& tracer, const CallArgs& args) {
  require_method_count(args, 1, 2);
  CallArgs all = args;
  if (all.positional.size() == 2) all.positional.push_back(tracer.values().none());
  return call_on_mapping(tracer, all, "get");
}

template <size_t name>
ValuePtr proxy_method(Tracer& tracer, const CallArgs& args) {
  static constexpr const char* kNames[] = {"keys", "values", "items", "copy"};
  require_method_count(args, 0, 0);
  return call_on_mapping(tracer, args, kNames[name]);
}

}  // namespace

ValuePtr behind_proxy(Tracer& tracer, const ValuePtr& value) {
  if (type_of(value) != &PyDictProxy_Type) return value;
  if (auto* made = as<ConstructedValue>(value)) return behind_proxy(tracer, made->positional[0]);
  auto* known = as<ObjectValue>(value);
  // It may show a class, whose pending writes are not visible through it.
  if (known == nullptr || known->source == nullptr || !tracer.effects().written_classes().empty()) return value;
  tracer.effects().note_shown_class_dict();
  tracer.values().exact_type(value);
  ValuePtr mapping = value_at(tracer, tracer.sources().get(SourceKind::ShownMapping, known->source, nullptr));
  return mapping ? behind_proxy(tracer, mapping) : value;
}

namespace {

// Returns true if a copy of the value calls its keys() and reads its items: a user's mapping, or a dict subclass with
// an iterator of its own.
bool is_copied_by_methods(Tracer& tracer, const ValuePtr& value) {
  static PyObject* const kKeys = PyUnicode_InternFromString("keys");
  if (!is_user_object(value)) return false;
  if (PyType_IsSubtype(type_of(value), &PyODict_Type) != 0)
    return !inherits(tracer, value, &PyODict_Type, {"__iter__"});
  if (PyType_IsSubtype(type_of(value), &PyDict_Type) != 0) return !inherits(tracer, value, &PyDict_Type, {"__iter__"});
  return static_cast<bool>(optional_attribute(tracer, value, kKeys));
}

ValuePtr copied_by_methods(Tracer& tracer, const ValuePtr& value, bool* repeats) {
  static PyObject* const kUpdate =
      check(PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyDict_Type), "update")).release();
  auto pairs = elements_of(tracer, call_now(tracer, find_polyfill(kUpdate), {{value}, {}}));
  auto dict = make_value<DictValue>();
  for (const ValuePtr& pair : *pairs) {
    auto parts = elements_of(tracer, pair);
    dict_set(tracer, dict, key_of(tracer, (*parts)[0], /*alone=*/false).get(), (*parts)[1]);
  }
  if (repeats != nullptr) *repeats = dict->entries.size() < pairs->size();
  return dict;
}

}  // namespace

ValuePtr copied_mapping(Tracer& tracer, const ValuePtr& value, bool* repeats) {
  ValuePtr shown = behind_proxy(tracer, value);
  if (shown == value && is_copied_by_methods(tracer, value)) return copied_by_methods(tracer, value, repeats);
  if (shown != value && !is_dict(tracer, shown, {"__iter__", "keys", "__getitem__", "__getattribute__"}))
    graph_break(BreakReason::unknown_container, describe(value));
  return shown;
}

ValuePtr proxy_of_class(Tracer& tracer, const ValuePtr& type) {
  auto* known = as<ObjectValue>(type);
  auto* object = reinterpret_cast<PyTypeObject*>(known->object.get());
  bool is_written = std::ranges::any_of(tracer.effects().written_classes(), [&](const ValuePtr& each) {
    return as<ObjectValue>(each)->object.get() == known->object.get();
  });
  if (known->source == nullptr || known->traced_class || is_written || pv_type_dict(object) == nullptr) return nullptr;
  static PyObject* const kDict = PyUnicode_InternFromString("__dict__");
  std::optional<int> field = object_field(type_of(type), kDict);
  ValuePtr dict =
      field ? value_at(tracer, tracer.sources().get(SourceKind::Field, known->source, kDict, *field)) : nullptr;
  if (!dict) return nullptr;
  tracer.effects().note_shown_class_dict();
  return proxy_of(tracer, dict);
}

namespace {

void add_mapping_proxy_calls() {
  auto* type = reinterpret_cast<PyObject*>(&PyDictProxy_Type);
  register_call(type, make_proxy);
  const std::pair<const char*, CallHandler> rows[] = {{"get", proxy_get},
                                                      {"keys", proxy_method<0>},
                                                      {"values", proxy_method<1>},
                                                      {"items", proxy_method<2>},
                                                      {"copy", proxy_method<3>}};
  for (const auto& [name, handler] : rows) register_call(check(PyObject_GetAttrString(type, name)).get(), handler);
}

const CallRegistration call_registration(add_mapping_proxy_calls);

}  // namespace

}  // namespace md
