// vars(x) and x.__dict__: a dict without storage of its own; reads and writes go to the attributes of x.
#include "symbolic/facts/instance_dicts.h"
#include "cpython/imports.h"
#include "cpython/object_layout.h"
#include "guards/guard_set.h"
#include "symbolic/attributes/attributes.h"
#include "symbolic/breaks/break_reason.h"
#include "symbolic/breaks/outcomes.h"
#include "symbolic/builtins/iterators.h"
#include "symbolic/calls/calls.h"
#include "symbolic/effects/pending_writes.h"
#include "symbolic/exceptions/exceptions.h"
#include "symbolic/facts/name_spaces.h"
#include "symbolic/facts/value_facts.h"
#include "symbolic/trace/registry.h"

namespace md {

namespace {

// Returns true if the class has slots in addition to its dict: attributes in slots are not followed.
bool has_slots(PyTypeObject* type) {
  // The descriptor of `type`, since a metaclass may define its own __dict__.
  static PyObject* const kDict = PyUnicode_InternFromString("__dict__");
  PyObject* descriptor = _PyType_Lookup(&PyType_Type, kDict);
  PyObject* mro = type->tp_mro;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(mro); ++i) {
    Ref dict = check(Py_TYPE(descriptor)->tp_descr_get(descriptor, PyTuple_GET_ITEM(mro, i), nullptr));
    Ref values = check(PyMapping_Values(dict));
    for (Py_ssize_t at = 0; at < PyList_GET_SIZE(values.get()); ++at)
      if (Py_IS_TYPE(PyList_GET_ITEM(values.get(), at), &PyMemberDescr_Type)) return true;
  }
  return false;
}

PyTypeObject* layout_of(PyTypeObject* type) {
  while (PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE)) type = type->tp_base;
  return type;
}

void require_text(BorrowedRef key) {
  if (!PyUnicode_CheckExact(key.get())) graph_break(BreakReason::unknown_subscript, "a __dict__ at what is no name");
}

// A data descriptor of the same name would shadow the dict's item on attribute access.
void require_no_slot(Tracer& tracer, const ValuePtr& owner, BorrowedRef name) {
  ValuePtr found = type_attribute(tracer, owner, name);
  if (!found) return;
  PyTypeObject* type = tracer.values().exact_type(found);
  // What is stored behind a property, or a descriptor of a Python class, is found in the __dict__ alone.
  bool is_slot =
      type->tp_descr_set != nullptr && type != &PyProperty_Type && !PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE);
  if (is_slot) graph_break(BreakReason::store_attribute, "a __dict__ beside a descriptor of the same name");
}

ValuePtr call_vars(Tracer& tracer, const CallArgs& args) {
  static PyObject* const kDict = PyUnicode_InternFromString("__dict__");
  if (args.is_empty()) return names_of_frame(tracer);
  if (args.positional.size() != 1 || !args.keywords.empty()) raise_here();
  // The TypeError for a missing __dict__ is the interpreter's.
  ValuePtr value = optional_attribute(tracer, args.positional[0], kDict);
  if (!value) raise_here();
  return value;
}

bool is_python_method(const ValuePtr& value) {
  auto* method = as<BoundMethodValue>(value);
  return method != nullptr && is_python_function(method->function);
}

// An iterator over what a list or dict of a subclass holds; its method that says so must be that of the base.
ValuePtr items_to_copy(Tracer& tracer, const ValuePtr& container, PyTypeObject* base, const char* method) {
  if (!inherits(tracer, container, base, {method}))
    graph_break(BreakReason::unknown_c_function, "object.__reduce_ex__");
  bool is_dict = base == &PyDict_Type;
  return any_iterator_over(tracer, is_dict ? ValuePtr(make_value<DictViewValue>(container, 2)) : container);
}

// set.__reduce__: the class and the elements.
ValuePtr reduced_set(Tracer& tracer, const ValuePtr& set) {
  auto items = iterate(tracer, set);
  if (!items) graph_break(BreakReason::unknown_c_function, "set.__reduce__");
  auto args =
      make_value<SequenceValue>(false, std::vector<ValuePtr>{make_value<SequenceValue>(true, std::move(*items))});
  return make_value<SequenceValue>(
      false, std::vector<ValuePtr>{type_value(tracer, set), std::move(args), tracer.values().none()});
}

// object.__reduce_ex__ for an object of a Python class: how copy and pickle create another one, and its __dict__.
ValuePtr call_reduce(Tracer& tracer, const CallArgs& args) {
  std::optional<int64_t> protocol =
      args.positional.size() == 2 && args.keywords.empty() ? int_of(tracer, args.positional[1]) : std::nullopt;
  PyTypeObject* type = protocol ? type_of(args.positional[0]) : nullptr;
  if (type == &PySet_Type || type == &PyFrozenSet_Type) return reduced_set(tracer, args.positional[0]);
  ValuePtr dict = protocol ? instance_dict(tracer, args.positional[0]) : nullptr;
  bool is_plain = dict && *protocol >= 2;
  ValuePtr own_state;
  if (is_plain) {
    const ValuePtr& self = args.positional[0];
    is_plain = inherits(tracer, self, &PyBaseObject_Type, {"__reduce__", "__reduce_ex__"});
    own_state = optional_attribute(tracer, self, check(PyUnicode_InternFromString("__getstate__")).get());
    if (!is_python_method(own_state)) own_state = nullptr;
    is_plain = is_plain && (own_state || inherits(tracer, self, &PyBaseObject_Type, {"__getstate__"}));
    for (const char* hook : {"__getnewargs__", "__getnewargs_ex__"})
      is_plain = is_plain && !type_attribute(tracer, self, check(PyUnicode_InternFromString(hook)).get());
    // Names of slots, cached by copyreg or defined by the class itself.
    ValuePtr slots = type_attribute(tracer, self, check(PyUnicode_InternFromString("__slotnames__")).get());
    is_plain = is_plain && (!slots || length_of(tracer, slots).value_or(1) == 0);
  }
  if (!is_plain) graph_break(BreakReason::unknown_c_function, "object.__reduce_ex__");
  Ref module = check(PyUnicode_InternFromString("copyreg")), name = check(PyUnicode_InternFromString("__newobj__"));
  ValuePtr copyreg = loaded_module(tracer, module.get());
  ValuePtr maker = copyreg ? optional_attribute(tracer, copyreg, name.get()) : nullptr;
  if (!maker) graph_break(BreakReason::unknown_c_function, "object.__reduce_ex__");
  auto of_class = make_value<SequenceValue>(false, std::vector<ValuePtr>{type_value(tracer, args.positional[0])});
  ValuePtr state = own_state                      ? call_now(tracer, own_state, {})
                   : *length_of(tracer, dict) > 0 ? dict
                                                  : tracer.values().none();
  const ValuePtr &self = args.positional[0], none = tracer.values().none();
  ValuePtr list_items =
      self->kind == ValueKind::Sequence ? items_to_copy(tracer, self, &PyList_Type, "__iter__") : none;
  ValuePtr dict_items = self->kind == ValueKind::Dict ? items_to_copy(tracer, self, &PyDict_Type, "items") : none;
  return make_value<SequenceValue>(false, std::vector<ValuePtr>{maker, of_class, state, list_items, dict_items});
}

}  // namespace

ValuePtr instance_dict(Tracer& tracer, const ValuePtr& owner) {
  auto* object = as<ObjectValue>(owner);
  if ((object == nullptr || object->source == nullptr) && own_attributes_of(owner) == nullptr) return nullptr;
  PyTypeObject* type = tracer.values().exact_type(owner);
  bool is_plain =
      PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) && pv_type_has_storage(type) != 0 && !has_slots(type) &&
      (owner->kind == ValueKind::Dict || owner->kind == ValueKind::Sequence || layout_of(type) == &PyBaseObject_Type);
  if (!is_plain || exception_of(owner) != nullptr) return nullptr;
  for (const Handle<InstanceDictValue>& known : tracer.effects().instance_dicts())
    if (known->owner == owner) return known;
  auto dict = make_value<InstanceDictValue>(owner);
  tracer.effects().instance_dicts().push_back(dict);
  return dict;
}

std::unique_ptr<std::vector<DictValue::Entry>> instance_entries(Tracer& tracer, const InstanceDictValue& dict) {
  auto entries = std::make_unique<std::vector<DictValue::Entry>>();
  if (const OwnAttributes* own = own_attributes_of(dict.owner)) {
    for (const auto& [name, value] : *own) entries->push_back({name, value});
    return entries;
  }
  auto* owner = as<ObjectValue>(dict.owner);
  const Source* source = tracer.sources().get(SourceKind::AttributesDict, owner->source, nullptr);
  Ref real = fetch(source, tracer.values().view());
  if (!real || !PyDict_CheckExact(real.get()))
    graph_break(BreakReason::unguardable_object, "a __dict__ of another type");
  Ref keys = check(PySequence_Tuple(real));
  auto held = make_value<DictValue>();
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(keys.get()); ++i) {
    BorrowedRef key = PyTuple_GET_ITEM(keys.get(), i);
    require_text(key);
    const Source* attribute = tracer.sources().get(SourceKind::InstanceAttr, owner->source, key);
    held->entries.push_back({Ref::share(key), value_at(tracer, attribute)});
  }
  tracer.guards().dict_keys(source, keys.get());
  if (owner->writes) {
    for (const auto& [key, value] : owner->writes->stores) {
      if (value) {
        held->set(key.get(), value);
      } else {
        held->erase(key.get());
      }
    }
  }
  *entries = std::move(held->entries);
  return entries;
}

ValuePtr instance_item(Tracer& tracer, const InstanceDictValue& dict, BorrowedRef key) {
  require_text(key);
  if (OwnAttributes* own = own_attributes_of(dict.owner)) {
    ValuePtr* found = find_attribute(*own, key);
    return found != nullptr ? *found : nullptr;
  }
  auto* owner = as<ObjectValue>(dict.owner);
  if (owner->writes)
    if (const ValuePtr* stored = owner->writes->find(key)) return *stored;
  const Source* source = tracer.sources().get(SourceKind::InstanceAttr, owner->source, key);
  PyObject* value = nullptr;
  int found = pv_instance_lookup(owner->object, key, &value);
  if (found < 0) graph_break(BreakReason::unguardable_object, "a __dict__ with keys of its own equality");
  if (found > 0) {
    tracer.guards().present(source);  // a guard on its presence may be the only one
    return value_at(tracer, source, Ref::share(value));
  }
  tracer.guards().absent(source);
  return nullptr;
}

void store_instance_item(Tracer& tracer, const InstanceDictValue& dict, BorrowedRef key, ValuePtr value) {
  require_text(key);
  require_no_slot(tracer, dict.owner, key);
  OwnAttributes* own = own_attributes_of(dict.owner);
  if (own == nullptr) return attribute_store(tracer, dict.owner, key, std::move(value));
  ValuePtr* found = find_attribute(*own, key);
  if (found != nullptr && value) {
    *found = std::move(value);
  } else if (value) {
    own->emplace_back(Ref::share(key), std::move(value));
  } else if (found != nullptr) {
    std::erase_if(*own, [&](const auto& entry) { return &entry.second == found; });
  }
}

namespace {

void add_instance_dict_calls() {
  register_call(imported("builtins", "vars").get(), call_vars);
  register_call(check(PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyBaseObject_Type), "__reduce_ex__")).get(),
                call_reduce);
}

const CallRegistration call_registration(add_instance_dict_calls);

}  // namespace

}  // namespace md
