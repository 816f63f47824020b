// Writes to lists, dicts, sets, deques and attributes: visible to later reads, applied at the exit.
#include "symbolic/effects/pending_writes.h"

#include <algorithm>
#include "cpython/library_types.h"
#include "cpython/object_layout.h"
#include "cpython/object_protocol.h"
#include "cpython/set_table.h"
#include "guards/constants.h"
#include "guards/guard_set.h"
#include "symbolic/breaks/break_reason.h"
#include "symbolic/breaks/outcomes.h"
#include "symbolic/builtins/iterators.h"
#include "symbolic/effects/finalizers.h"
#include "symbolic/facts/identities.h"
#include "symbolic/facts/instance_dicts.h"
#include "symbolic/facts/value_facts.h"
#include "symbolic/facts/weak_references.h"
#include "symbolic/trace/tracer.h"

#include <structmember.h>

namespace md {

namespace {

// Above these sizes, guarding the whole container for one write costs too much.
constexpr int64_t kLongestList = 4096;
constexpr Py_ssize_t kLongestSet = 512;

// While it exists, reads of the object see its state at the region's start.
class WithoutWrites {
 public:
  explicit WithoutWrites(ObjectValue* object) : object_(object), writes_(std::move(object->writes)) {}
  ~WithoutWrites() { object_->writes = std::move(writes_); }
  WithoutWrites(const WithoutWrites&) = delete;

 private:
  ObjectValue* object_;
  std::shared_ptr<PendingWrites> writes_;
};

}  // namespace

PendingWrites& write_to(Tracer& tracer, const ValuePtr& value) {
  return tracer.effects().write_to(value, tracer.step_number());
}

SequenceValue* written_list(Tracer& tracer, ObjectValue* object) {
  if (!object->writes->contents) {
    auto list = make_value<SequenceValue>(true, std::vector<ValuePtr>{});
    {
      WithoutWrites as_it_was(object);
      if (Py_SIZE(object->object.get()) > kLongestList)
        graph_break(BreakReason::unknown_container, "a long list that is changed");
      auto elements = elements_of(tracer, ValuePtr(object));
      if (!elements) graph_break(BreakReason::unknown_container, "a list of a class of its own");
      list->items = std::move(*elements);
    }
    PendingWrites& writes = *object->writes;
    list->items.insert(list->items.end(), writes.appended.begin(), writes.appended.end());
    writes.contents = list;
  }
  return as<SequenceValue>(object->writes->contents);
}

DictValue* written_dict(Tracer& tracer, ObjectValue* object) {
  if (!object->writes->contents) {
    auto dict = make_value<DictValue>();
    {
      WithoutWrites as_it_was(object);
      auto entries = held_entries(tracer, ValuePtr(object));
      if (!entries) graph_break(BreakReason::unknown_container, "a dict with keys that are not plain");
      dict->entries = std::move(*entries);
    }
    for (const auto& [key, value] : object->writes->stores) {
      if (value) {
        dict->set(key.get(), value);
      } else {
        dict->erase(key.get());
      }
    }
    object->writes->contents = dict;
  }
  return as<DictValue>(object->writes->contents);
}

SequenceValue* list_contents(Tracer& tracer, const ValuePtr& list) {
  if (auto* made = as<SequenceValue>(list)) return made->is_list && !is_deque(list) ? made : nullptr;
  auto* object = as<ObjectValue>(list);
  if (object == nullptr || !PyList_Check(object->object.get()) || !is_plain_list(tracer, list)) return nullptr;
  tracer.values().exact_type(list);
  write_to(tracer, list);
  return written_list(tracer, object);
}

bool takes_items(Tracer& tracer, const ValuePtr& list) {
  if (auto* made = as<SequenceValue>(list)) return made->is_list && !is_deque(list);
  auto* object = as<ObjectValue>(list);
  return object != nullptr && PyList_Check(object->object.get()) && is_plain_list(tracer, list);
}

bool list_append(Tracer& tracer, const ValuePtr& list, ValuePtr value) {
  if (!takes_items(tracer, list)) return false;
  if (auto* made = as<SequenceValue>(list)) {
    made->items.push_back(std::move(value));
    return true;
  }
  tracer.values().exact_type(list);
  PendingWrites& writes = write_to(tracer, list);
  if (auto* contents = as<SequenceValue>(writes.contents)) {
    contents->items.push_back(value);
  } else {
    writes.appended.push_back(value);
  }
  tracer.effects().add({EffectKind::ListAppend, list, nullptr, std::move(value)});
  return true;
}

bool list_extend(Tracer& tracer, const ValuePtr& list, const ValuePtr& iterable) {
  if (!takes_items(tracer, list)) return false;
  if (auto elements = elements_of(tracer, iterable)) {
    for (ValuePtr& item : *elements) list_append(tracer, list, std::move(item));
    return true;
  }
  ValuePtr iterator = measured_iterator_over(tracer, iterable);
  if (!iterator) return false;
  while (std::optional<ValuePtr> item = next_of(tracer, as<IteratorValue>(iterator)))
    list_append(tracer, list, std::move(*item));
  return true;
}

std::vector<ValuePtr>* deque_contents(Tracer& tracer, const ValuePtr& deque, bool keeps_iterators) {
  if (!is_deque(deque)) return nullptr;
  if (auto* made = as<SequenceValue>(deque)) {
    if (!keeps_iterators) ++made->changes;
    return &made->items;
  }
  auto* object = as<ObjectValue>(deque);
  tracer.values().exact_type(deque);
  write_to(tracer, deque);
  SequenceValue* contents = written_list(tracer, object);
  if (!keeps_iterators) ++contents->changes;
  bool is_logged = std::ranges::any_of(tracer.effects().log(), [&](const PendingEffect& effect) {
    return effect.kind == EffectKind::DequeAssign && effect.value == object->writes->contents;
  });
  // Which elements the deque will lose is not known yet.
  if (!is_logged) leave_finalizers_to_python(tracer, contents->items, {});
  if (!is_logged) tracer.effects().add({EffectKind::DequeAssign, deque, nullptr, object->writes->contents});
  return &contents->items;
}

void list_splice(Tracer& tracer, const ValuePtr& list, int64_t start, int64_t stop, std::vector<ValuePtr> values) {
  SequenceValue* contents = list_contents(tracer, list);
  MD_ASSERT(contents != nullptr, "a splice of something that is not a list");
  if (list->kind != ValueKind::Sequence)
    leave_finalizers_to_python(tracer, std::span(contents->items).subspan(start, stop - start), values);
  contents->items.erase(contents->items.begin() + start, contents->items.begin() + stop);
  contents->items.insert(contents->items.begin() + start, values.begin(), values.end());
  if (list->kind == ValueKind::Sequence) return;
  tracer.effects().add(
      {EffectKind::ListSplice, list, nullptr, make_value<SequenceValue>(true, std::move(values)), start, stop});
}

ValuePtr dict_item(Tracer& tracer, const ValuePtr& dict, BorrowedRef key) {
  if (auto* attributes = as<InstanceDictValue>(dict)) return instance_item(tracer, *attributes, key);
  if (auto* made = as<DictValue>(dict)) {
    keep_apart_in_dict(tracer, key, *made);
    int at = made->find(key);
    return at < 0 ? nullptr : made->entries[at].value;
  }
  auto* object = as<ObjectValue>(dict);
  tracer.values().exact_type(dict);
  if (object->writes) keep_apart_in_writes(tracer, key, *object->writes);
  if (std::optional<ValuePtr> written = written_item(dict, key)) return *written;
  if (tracer.keys().referent_of(key)) return weak_item(tracer, dict, key);
  if (!is_guardable_constant(exact_constant(key))) {
    // The key of an object made in the trace only represents it.
    if (ValuePtr made = tracer.keys().find(key); made && made->kind == ValueKind::Tensor && !existing_object(made))
      graph_break(BreakReason::unhashable_key, describe(made));
    auto entries = entries_of(tracer, dict);
    if (!entries) graph_break(BreakReason::unhashable_key, "a dict with keys that have their own equality");
    for (const DictValue::Entry& entry : *entries) {
      if (constant_key_equal(entry.key.get(), key.get()) == 1) return entry.value;
      keep_identities_apart(tracer, key, entry.key.get());
    }
    return nullptr;
  }
  PyObject* item = nullptr;
  Ref plain = exact_constant(key);
  key = plain.get();
  int found = lookup_constant(object->object, key, &item);
  if (found < 0) graph_break(BreakReason::unhashable_key, "a dict with keys that have their own equality");
  if (object->source == nullptr) return found > 0 ? tracer.values().constant(item) : nullptr;
  tracer.guards().dict_contains(object->source, key, found > 0);
  return found > 0 ? value_at(tracer, tracer.sources().get(SourceKind::DictItem, object->source, key), Ref::share(item))
                   : nullptr;
}

bool dict_set(Tracer& tracer, const ValuePtr& dict, BorrowedRef key, ValuePtr value) {
  if (auto* attributes = as<InstanceDictValue>(dict)) {
    store_instance_item(tracer, *attributes, key, std::move(value));
    return true;
  }
  if (auto* made = as<DictValue>(dict)) {
    keep_apart_in_dict(tracer, key, *made);
    made->set(key, std::move(value));
    return true;
  }
  auto* object = as<ObjectValue>(dict);
  if (object == nullptr || !PyDict_Check(object->object.get())) return false;
  // The look-up guards that the store runs no __eq__ of another key.
  dict_item(tracer, dict, key);
  store_in_dict(tracer, dict, key, std::move(value));
  return true;
}

void store_in_dict(Tracer& tracer, const ValuePtr& dict, BorrowedRef key, ValuePtr value) {
  leave_entry_to_python(tracer, as<ObjectValue>(dict)->object, key, /*keeps_key=*/value != nullptr);
  PendingWrites& writes = write_to(tracer, dict);
  if (auto* contents = as<DictValue>(writes.contents)) {
    if (value) {
      contents->set(key, value);
    } else {
      contents->erase(key);
    }
  }
  writes.stores.emplace_back(Ref::share(key), value);
  tracer.effects().log_store(value ? EffectKind::DictSet : EffectKind::DictDelete, dict, key, value);
}

bool dict_delete(Tracer& tracer, const ValuePtr& dict, BorrowedRef key) {
  if (auto* made = as<DictValue>(dict)) {
    keep_apart_in_dict(tracer, key, *made);
    return made->erase(key);
  }
  if (!dict_item(tracer, dict, key)) return false;
  if (auto* attributes = as<InstanceDictValue>(dict)) {
    store_instance_item(tracer, *attributes, key, nullptr);
    return true;
  }
  store_in_dict(tracer, dict, key, nullptr);
  return true;
}

bool dict_clear(Tracer& tracer, const ValuePtr& dict) {
  if (auto* attributes = as<InstanceDictValue>(dict)) {
    auto entries = instance_entries(tracer, *attributes);
    for (const DictValue::Entry& entry : *entries) store_instance_item(tracer, *attributes, entry.key.get(), nullptr);
    return true;
  }
  if (auto* made = as<DictValue>(dict)) {
    made->erased += static_cast<int64_t>(made->entries.size());
    made->entries.clear();
    return true;
  }
  auto* object = as<ObjectValue>(dict);
  if (object == nullptr || !PyDict_Check(object->object.get())) return false;
  tracer.values().exact_type(dict);
  leave_entries_to_python(tracer, object->object);
  auto emptied = make_value<DictValue>();
  auto* before = as<DictValue>(write_to(tracer, dict).contents);
  emptied->erased = before != nullptr ? before->erased + 1 : 1;
  write_to(tracer, dict).contents = emptied;
  tracer.effects().add({EffectKind::DictClear, dict, nullptr, nullptr});
  return true;
}

Ref set_contents(Tracer& tracer, const ValuePtr& value) {
  if (auto* made = as<SetValue>(value)) return made->set;
  auto* object = as<ObjectValue>(value);
  if (object == nullptr) return nullptr;
  bool is_frozen = PyFrozenSet_CheckExact(object->object.get()) != 0;
  if (Ref constant = is_frozen ? constant_of(tracer, value) : Ref()) return constant;
  if ((!is_frozen && !PySet_CheckExact(object->object.get())) || object->source == nullptr) return nullptr;
  tracer.values().exact_type(value);
  if (object->writes && object->writes->contents) return as<SetValue>(object->writes->contents)->set;
  if (PySet_GET_SIZE(object->object.get()) > kLongestSet) return nullptr;
  Ref items = check(PySequence_Tuple(object->object));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i) {
    BorrowedRef item = PyTuple_GET_ITEM(items.get(), i);
    if (is_guardable_constant(item)) continue;
    if (!may_be_key(item)) return nullptr;
    if (tracer.keys().contains(item)) continue;
    ValuePtr held =
        value_at(tracer, tracer.sources().get(SourceKind::SetItem, object->source, nullptr, i), Ref::share(item));
    if (auto* known = as<ObjectValue>(held)) known->value_guarded = true;
    tracer.keys().set(item, held);
  }
  tracer.guards().set_items(object->source, items.get());
  object->length_guarded = true;
  return is_frozen ? object->object : check(pv_set_copy(object->object, 0));
}

void require_own_items(Tracer& tracer, const ValuePtr& mapping) {
  PyTypeObject* type = type_of(mapping);
  bool is_subclass = type != nullptr && type != &PyDict_Type && PyType_IsSubtype(type, &PyDict_Type);
  if (is_subclass && !inherits(tracer, mapping, &PyDict_Type, {"__getitem__"}))
    graph_break(BreakReason::unknown_container, describe(mapping));
}

namespace {

// The keys of an exact dict, in its order.
Ref keys_to_merge(Tracer& tracer, const ValuePtr& dict) {
  auto entries = entries_of(tracer, dict);
  if (!entries) return nullptr;
  Ref keys = check(PyDict_New());
  for (const DictValue::Entry& entry : *entries) check_status(PyDict_SetItem(keys, entry.key, Py_None));
  return keys;
}

}  // namespace

Ref table_to_merge(Tracer& tracer, const ValuePtr& value) {
  PyTypeObject* type = type_of(value);
  if (type == &PyDict_Type) return keys_to_merge(tracer, value);
  bool is_exact = type == &PySet_Type || type == &PyFrozenSet_Type;
  bool is_set = type != nullptr && (PyType_IsSubtype(type, &PySet_Type) || PyType_IsSubtype(type, &PyFrozenSet_Type));
  if (is_set && !is_exact) graph_break(BreakReason::unknown_container, "the table of a " + describe(value));
  Ref contents = set_contents(tracer, value);
  auto* object = as<ObjectValue>(value);
  if (!contents || object == nullptr || object->source == nullptr) return contents;
  tracer.values().exact_type(value);
  uint64_t fingerprint = pv_set_fingerprint(object->object);
  // The fingerprint does not tell where elements were discarded, which the next ones fill.
  if (object->writes && fingerprint == 0)
    graph_break(BreakReason::unknown_container, "the table of a set that is changed");
  tracer.guards().set_table(object->source, fingerprint);
  return contents;
}

namespace {

void apply_change(EffectKind kind, PyObject* set, BorrowedRef item) {
  if (kind == EffectKind::SetAdd) check_status(PySet_Add(set, item));
  if (kind == EffectKind::SetDiscard) check_status(PySet_Discard(set, item));
  if (kind == EffectKind::SetClear) check_status(PySet_Clear(set));
  if (kind == EffectKind::SetUpdate) check_status(pv_set_update(set, item));
  if (kind == EffectKind::SetSubtract) check_status(pv_set_subtract(set, item));
}

// An exact set that is about to be changed; contents: those of now, by set_contents(), which no other value has if it
// is the caller's set and was not changed before.
SetValue* changed_set(Tracer& tracer, const ValuePtr& value, const Ref& contents) {
  if (auto* made = as<SetValue>(value)) return made;
  PendingWrites& writes = write_to(tracer, value);
  if (!writes.contents) writes.contents = make_value<SetValue>(contents);
  return as<SetValue>(writes.contents);
}

}  // namespace

bool set_change(Tracer& tracer, EffectKind kind, const ValuePtr& value, BorrowedRef item) {
  if (auto* made = as<SetValue>(value)) {
    if (item) keep_apart_in_set(tracer, item, made->set.get());
    apply_change(kind, made->to_change(), item);
    return true;
  }
  auto* object = as<ObjectValue>(value);
  Ref contents = object != nullptr && PySet_CheckExact(object->object.get()) ? set_contents(tracer, value) : Ref();
  if (!contents) return false;
  if (item) keep_apart_in_set(tracer, item, contents.get());
  if (kind != EffectKind::SetAdd) leave_element_to_python(tracer, contents, item);
  apply_change(kind, changed_set(tracer, value, contents)->set, item);
  tracer.effects().add({kind, value, nullptr, item ? value_of_key(tracer, item) : nullptr});
  return true;
}

bool set_merge(Tracer& tracer, EffectKind kind, const ValuePtr& value, const ValuePtr& operand, BorrowedRef table) {
  Ref contents = set_contents(tracer, value);
  if (!contents || type_of(value) != &PySet_Type) return false;
  keep_all_apart(tracer, contents, table);
  if (as<SetValue>(value) == nullptr && kind == EffectKind::SetSubtract) {
    Ref items = check(PySequence_Tuple(table));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i)
      leave_element_to_python(tracer, contents, PyTuple_GET_ITEM(items.get(), i));
  }
  apply_change(kind, changed_set(tracer, value, contents)->to_change(), table);
  if (as<SetValue>(value) == nullptr) tracer.effects().add({kind, value, nullptr, operand});
  return true;
}

namespace {

// The value in a slot of a C layout: __slots__, fields of built-in types.
Ref in_slot(PyObject* object, BorrowedRef name) {
  PyObject* descriptor = _PyType_Lookup(Py_TYPE(object), name);
  if (descriptor == nullptr || Py_TYPE(descriptor) != &PyMemberDescr_Type) return nullptr;
  Ref held = Ref::steal(
      PyMember_GetOne(reinterpret_cast<char*>(object), reinterpret_cast<PyMemberDescrObject*>(descriptor)->d_member));
  if (!held) PyErr_Clear();
  return held;
}

}  // namespace

void attribute_store(Tracer& tracer, const ValuePtr& object, BorrowedRef name, ValuePtr value) {
  PyObject* known = as<ObjectValue>(object)->object;
  PyObject* old = nullptr;
  if (pv_instance_lookup(known, name, &old) > 0) leave_finalizer_to_python(tracer, old);
  leave_finalizer_to_python(tracer, in_slot(known, name), 3);
  PendingWrites& writes = write_to(tracer, object);
  (writes.has_items ? writes.attributes : writes.stores).emplace_back(Ref::share(name), value);
  tracer.effects().log_store(value ? EffectKind::AttributeSet : EffectKind::AttributeDelete, object, name, value);
}

ValuePtr globals_dict(Tracer& tracer, const ValuePtr& function) {
  auto* known = as<ObjectValue>(function);
  auto* model = reinterpret_cast<PyFunctionObject*>(known->object.get());
  ValuePtr dict = value_at(tracer, tracer.sources().get(SourceKind::GlobalsDict, known->source, nullptr),
                           Ref::share(model->func_globals));
  tracer.values().exact_type(dict);
  return dict;
}

}  // namespace md
