// Writing into objects from outside: logged in order, seen by what is read later, done at the exit.
//  1. Two sources that hold one object share their writes, under an ALIAS guard; objects of one type seen as different, of which one
//     is written to, get a NOT_ALIAS guard.
//  2. A dict may be the dict of an instance's attributes: that is guarded against wherever one of the two is written.
#include "symbolic/pending_writes.h"
#include "cpython/library_types.h"
#include "cpython/object_layout.h"
#include "guards/constants.h"
#include "symbolic/finalizers.h"
#include "symbolic/identities.h"
#include "symbolic/instance_dicts.h"
#include "symbolic/iterators.h"
#include "symbolic/outcomes.h"
#include "symbolic/value_facts.h"
#include "symbolic/walk.h"
#include "symbolic/weak_references.h"

#include <structmember.h>

namespace md {

namespace {

// Looking at more than this for the sake of one write is not worth it.
constexpr int64_t kLongestList = 4096;
constexpr size_t kMostRelations = 4096;
constexpr Py_ssize_t kLongestSet = 512;

bool is_plain_instance(PyObject* object) {
  if (Py_IS_TYPE(object, simple_namespace_type())) return true;
  return PyType_HasFeature(Py_TYPE(object), Py_TPFLAGS_HEAPTYPE) && !PyType_Check(object);
}

// Perhaps a dict that the program has is that of its attributes.
bool has_attributes(PyObject* object) { return is_plain_instance(object) || PyFunction_Check(object); }

// While it exists the object is read as it was at the region's start.
class WithoutWrites {
 public:
  explicit WithoutWrites(ObjectValue* object) : object_(object), writes_(std::move(object->writes)) {}
  ~WithoutWrites() { object_->writes = std::move(writes_); }
  WithoutWrites(const WithoutWrites&) = delete;

 private:
  ObjectValue* object_;
  std::shared_ptr<PendingWrites> writes_;
};

bool is_delete(EffectKind kind) { return kind == EffectKind::DictDelete || kind == EffectKind::AttributeDelete; }
bool is_store(EffectKind kind) {
  return is_delete(kind) || kind == EffectKind::DictSet || kind == EffectKind::AttributeSet;
}

}  // namespace

void Walk::relate_instance_dict(const ValuePtr& instance, const ValuePtr& dict) {
  auto* owner = as<ObjectValue>(instance);
  auto* known = as<ObjectValue>(dict);
  if (!pv_has_instance_storage(owner->object)) return;
  const Source* source = sources().get(SourceKind::InstanceDict, owner->source, nullptr);
  PyObject* attributes = pv_instance_dict(owner->object);
  if (attributes == known->object.get())
    graph_break(BreakReason::unguardable_object, "a dict that holds the attributes of an object");
  if (attributes == nullptr) return guards_.absent(source);
  guards_.alias(source, known->source, false);
}

void Walk::relate(const ValuePtr& written, const ValuePtr& other) {
  if (written == other) return;
  auto *a = as<ObjectValue>(written), *b = as<ObjectValue>(other);
  PyObject *left = a->object, *right = b->object;
  if (left == right) {
    guards_.alias(a->source, b->source, true);
    b->writes = a->writes;
  } else if (Py_TYPE(left) == Py_TYPE(right)) {
    guards_.alias(a->source, b->source, false);
  } else if (PyDict_Check(left) && has_attributes(right)) {
    relate_instance_dict(other, written);
  } else if (PyDict_Check(right) && has_attributes(left)) {
    relate_instance_dict(written, other);
  }
}

void Walk::add_mutable(const ValuePtr& value) {
  PyObject* object = as<ObjectValue>(value)->object;
  if (!PyList_CheckExact(object) && !Py_IS_TYPE(object, deque_type()) && !PyDict_Check(object) &&
      !PySet_CheckExact(object) && !is_plain_instance(object))
    return;
  mutables_.push_back(value);
  for (const ValuePtr& written : written_) relate(written, value);
}

void Walk::note_function(const ValuePtr& function) {
  if (std::ranges::find(mutables_, function) != mutables_.end()) return;
  mutables_.push_back(function);
  for (const ValuePtr& written : written_) relate(written, function);
}

PendingWrites& Walk::write_to(const ValuePtr& value) {
  auto* object = as<ObjectValue>(value);
  MD_ASSERT(object != nullptr, "only objects from outside have pending writes");
  if (object->source == nullptr) graph_break(BreakReason::unguardable_object, describe(value));
  if (object->writes) return *object->writes;
  if (mutables_.size() * (written_.size() + 1) > kMostRelations)
    graph_break(BreakReason::store_subscript, "too many objects that may be the same one");
  object->writes = std::make_shared<PendingWrites>();
  object->writes->first_step = steps_;
  written_.push_back(value);
  dict_written_ = dict_written_ || PyDict_Check(object->object.get());
  for (const ValuePtr& other : mutables_) relate(value, other);
  return *object->writes;
}

SequenceValue* Walk::written_list(ObjectValue* object) {
  if (!object->writes->contents) {
    auto list = make_value<SequenceValue>(true, std::vector<ValuePtr>{});
    {
      WithoutWrites as_it_was(object);
      if (Py_SIZE(object->object.get()) > kLongestList)
        graph_break(BreakReason::unknown_container, "a long list that is changed");
      auto elements = elements_of(*this, ValuePtr(object));
      if (!elements) graph_break(BreakReason::unknown_container, "a list of a class of its own");
      list->items = std::move(*elements);
    }
    PendingWrites& writes = *object->writes;
    list->items.insert(list->items.end(), writes.appended.begin(), writes.appended.end());
    writes.contents = list;
  }
  return as<SequenceValue>(object->writes->contents);
}

DictValue* Walk::written_dict(ObjectValue* object) {
  if (!object->writes->contents) {
    auto dict = make_value<DictValue>();
    {
      WithoutWrites as_it_was(object);
      auto entries = entries_of(*this, ValuePtr(object));
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

SequenceValue* list_contents(Walk& walk, const ValuePtr& list) {
  if (auto* made = as<SequenceValue>(list)) return made->is_list && !is_deque(list) ? made : nullptr;
  auto* object = as<ObjectValue>(list);
  if (object == nullptr || !PyList_Check(object->object.get()) || !is_plain_list(walk, list)) return nullptr;
  walk.exact_type(list);
  walk.write_to(list);
  return walk.written_list(object);
}

DictValue* Walk::dict_contents(const ValuePtr& dict) {
  if (auto* made = as<DictValue>(dict)) return made;
  auto* object = as<ObjectValue>(dict);
  if (object == nullptr || !PyDict_Check(object->object.get())) return nullptr;
  exact_type(dict);
  write_to(dict);
  return written_dict(object);
}

bool takes_items(Walk& walk, const ValuePtr& list) {
  if (auto* made = as<SequenceValue>(list)) return made->is_list && !is_deque(list);
  auto* object = as<ObjectValue>(list);
  return object != nullptr && PyList_Check(object->object.get()) && is_plain_list(walk, list);
}

bool Walk::list_append(const ValuePtr& list, ValuePtr value) {
  if (!takes_items(*this, list)) return false;
  if (auto* made = as<SequenceValue>(list)) {
    made->items.push_back(std::move(value));
    return true;
  }
  exact_type(list);
  PendingWrites& writes = write_to(list);
  if (auto* contents = as<SequenceValue>(writes.contents)) {
    contents->items.push_back(value);
  } else {
    writes.appended.push_back(value);
  }
  effects_.push_back({EffectKind::ListAppend, list, nullptr, std::move(value)});
  return true;
}

bool list_extend(Walk& walk, const ValuePtr& list, const ValuePtr& iterable) {
  if (!takes_items(walk, list)) return false;
  if (auto elements = elements_of(walk, iterable)) {
    for (ValuePtr& item : *elements) walk.list_append(list, std::move(item));
    return true;
  }
  ValuePtr iterator = measured_iterator_over(walk, iterable);
  if (!iterator) return false;
  while (std::optional<ValuePtr> item = walk.next_of(as<IteratorValue>(iterator)))
    walk.list_append(list, std::move(*item));
  return true;
}

std::vector<ValuePtr>* Walk::deque_contents(const ValuePtr& deque, bool keeps_iterators) {
  if (!is_deque(deque)) return nullptr;
  if (auto* made = as<SequenceValue>(deque)) {
    if (!keeps_iterators) ++made->changes;
    return &made->items;
  }
  auto* object = as<ObjectValue>(deque);
  exact_type(deque);
  write_to(deque);
  SequenceValue* contents = written_list(object);
  if (!keeps_iterators) ++contents->changes;
  bool is_logged = std::ranges::any_of(effects_, [&](const PendingEffect& effect) {
    return effect.kind == EffectKind::DequeAssign && effect.value == object->writes->contents;
  });
  // Which of them it is to lose is not known here.
  if (!is_logged) leave_finalizers_to_python(*this, contents->items, {});
  if (!is_logged) effects_.push_back({EffectKind::DequeAssign, deque, nullptr, object->writes->contents});
  return &contents->items;
}

// A deque is assigned as a whole, once for all changes: what they have made of it so far is what an output may show.
void Walk::freeze_deques() {
  for (PendingEffect& effect : effects_)
    if (effect.kind == EffectKind::DequeAssign && effect.value == as<ObjectValue>(effect.target)->writes->contents)
      effect.value = make_value<SequenceValue>(true, as<SequenceValue>(effect.value)->items);
}

void Walk::list_splice(const ValuePtr& list, int64_t start, int64_t stop, std::vector<ValuePtr> values) {
  SequenceValue* contents = list_contents(*this, list);
  MD_ASSERT(contents != nullptr, "a splice of what is no list");
  if (list->kind != ValueKind::Sequence)
    leave_finalizers_to_python(*this, std::span(contents->items).subspan(start, stop - start), values);
  contents->items.erase(contents->items.begin() + start, contents->items.begin() + stop);
  contents->items.insert(contents->items.begin() + start, values.begin(), values.end());
  if (list->kind == ValueKind::Sequence) return;
  effects_.push_back(
      {EffectKind::ListSplice, list, nullptr, make_value<SequenceValue>(true, std::move(values)), start, stop});
}

namespace {

// The object by which the walk knows a key, in the place of a number of id(). Null: a stand-in that nobody has any more.
BorrowedRef key_object(const ValuePtr& key) {
  if (auto* identity = as<IdentityValue>(key)) return identity->key.get();
  if (auto* made = as<MadeValue>(key)) return made->model.get();
  auto* object = as<ObjectValue>(key);
  return object != nullptr ? object->object.get() : nullptr;
}

size_t place_of_store(const PendingWrites* writes, BorrowedRef key) {
  size_t hash =
      is_guardable_constant(key) ? static_cast<size_t>(PyObject_Hash(key)) : std::hash<const void*>()(key.get());
  return hash * 31 + std::hash<const void*>()(writes);
}

}  // namespace

// Null: there is none, or something in between has seen it.
Walk::PendingEffect* Walk::last_store(const PendingWrites* writes, BorrowedRef key) {
  for (; stores_indexed_ < effects_.size(); ++stores_indexed_) {
    const PendingEffect& effect = effects_[stores_indexed_];
    if (effect.kind == EffectKind::Output) output_end_ = stores_indexed_ + 1;
    if (effect.kind == EffectKind::DictClear)
      cleared_at_[as<ObjectValue>(effect.target)->writes.get()] = stores_indexed_ + 1;
    if (!is_store(effect.kind)) continue;
    const PendingWrites* written = as<ObjectValue>(effect.target)->writes.get();
    if (BorrowedRef key_stored = key_object(effect.key))
      stores_by_key_[place_of_store(written, key_stored)].push_back(stores_indexed_);
  }
  auto found = stores_by_key_.find(place_of_store(writes, key));
  if (found == stores_by_key_.end()) return nullptr;
  auto cleared = cleared_at_.find(writes);
  size_t first = std::max(output_end_, cleared != cleared_at_.end() ? cleared->second : 0);
  for (auto at = found->second.rbegin(); at != found->second.rend() && *at >= first; ++at) {
    PendingEffect& effect = effects_[*at];
    if (as<ObjectValue>(effect.target)->writes.get() == writes && identical_constants(key_object(effect.key), key))
      return &effect;
  }
  return nullptr;
}

// A second store under one key takes the place of the first, which nobody has seen.
void Walk::log_store(EffectKind kind, const ValuePtr& target, BorrowedRef key, ValuePtr value) {
  PendingEffect* last = is_delete(kind) ? nullptr : last_store(as<ObjectValue>(target)->writes.get(), key);
  if (last != nullptr && !is_delete(last->kind)) {
    last->value = std::move(value);
    return;
  }
  effects_.push_back({kind, target, value_of_key(*this, key), std::move(value)});
}

std::optional<ValuePtr> Walk::written_item(const ValuePtr& dict, BorrowedRef key) const {
  const PendingWrites* writes = as<ObjectValue>(dict)->writes.get();
  if (writes == nullptr) return std::nullopt;
  if (auto* contents = as<DictValue>(writes->contents)) {
    int at = contents->find(key);
    return at < 0 ? ValuePtr() : contents->entries[at].value;
  }
  const ValuePtr* stored = writes->find(key);
  return stored != nullptr ? std::optional(*stored) : std::nullopt;
}

ValuePtr Walk::dict_item(const ValuePtr& dict, BorrowedRef key) {
  if (auto* attributes = as<InstanceDictValue>(dict)) return instance_item(*this, *attributes, key);
  if (auto* made = as<DictValue>(dict)) {
    keep_apart_in_dict(*this, key, *made);
    int at = made->find(key);
    return at < 0 ? nullptr : made->entries[at].value;
  }
  auto* object = as<ObjectValue>(dict);
  exact_type(dict);
  if (object->writes) keep_apart_in_writes(*this, key, *object->writes);
  if (std::optional<ValuePtr> written = written_item(dict, key)) return *written;
  if (key_table_.referent_of(key)) return weak_item(*this, dict, key);
  if (!is_guardable_constant(exact_constant(key))) {
    auto entries = entries_of(*this, dict);
    if (!entries) graph_break(BreakReason::unhashable_key, "a dict with keys that have their own equality");
    for (const DictValue::Entry& entry : *entries) {
      if (entry.key.get() == key.get()) return entry.value;
      keep_identities_apart(*this, key, entry.key.get());
    }
    return nullptr;
  }
  PyObject* item = nullptr;
  Ref plain = exact_constant(key);
  key = plain.get();
  int found = lookup_constant(object->object, key, &item);
  if (found < 0) graph_break(BreakReason::unhashable_key, "a dict with keys that have their own equality");
  if (object->source == nullptr) return found > 0 ? constant(item) : nullptr;
  guards_.dict_contains(object->source, key, found > 0);
  return found > 0 ? at(sources().get(SourceKind::DictItem, object->source, key), Ref::share(item)) : nullptr;
}

bool Walk::dict_set(const ValuePtr& dict, BorrowedRef key, ValuePtr value) {
  if (auto* attributes = as<InstanceDictValue>(dict)) {
    store_instance_item(*this, *attributes, key, std::move(value));
    return true;
  }
  if (auto* made = as<DictValue>(dict)) {
    keep_apart_in_dict(*this, key, *made);
    made->set(key, std::move(value));
    return true;
  }
  auto* object = as<ObjectValue>(dict);
  if (object == nullptr || !PyDict_Check(object->object.get())) return false;
  // The look-up guards that storing runs no __eq__ of another key.
  dict_item(dict, key);
  store_in_dict(dict, key, std::move(value));
  return true;
}

void Walk::store_in_dict(const ValuePtr& dict, BorrowedRef key, ValuePtr value) {
  leave_entry_to_python(*this, as<ObjectValue>(dict)->object, key, /*keeps_key=*/value != nullptr);
  PendingWrites& writes = write_to(dict);
  if (auto* contents = as<DictValue>(writes.contents)) {
    if (value) {
      contents->set(key, value);
    } else {
      contents->erase(key);
    }
  }
  writes.stores.emplace_back(Ref::share(key), value);
  log_store(value ? EffectKind::DictSet : EffectKind::DictDelete, dict, key, value);
}

bool dict_delete(Walk& walk, const ValuePtr& dict, BorrowedRef key) {
  if (auto* made = as<DictValue>(dict)) {
    keep_apart_in_dict(walk, key, *made);
    return made->erase(key);
  }
  if (!walk.dict_item(dict, key)) return false;
  if (auto* attributes = as<InstanceDictValue>(dict)) {
    store_instance_item(walk, *attributes, key, nullptr);
    return true;
  }
  walk.store_in_dict(dict, key, nullptr);
  return true;
}

bool Walk::dict_clear(const ValuePtr& dict) {
  if (auto* attributes = as<InstanceDictValue>(dict)) {
    auto entries = instance_entries(*this, *attributes);
    for (const DictValue::Entry& entry : *entries) store_instance_item(*this, *attributes, entry.key.get(), nullptr);
    return true;
  }
  if (auto* made = as<DictValue>(dict)) {
    made->erased += static_cast<int64_t>(made->entries.size());
    made->entries.clear();
    return true;
  }
  auto* object = as<ObjectValue>(dict);
  if (object == nullptr || !PyDict_Check(object->object.get())) return false;
  exact_type(dict);
  leave_entries_to_python(*this, object->object);
  auto emptied = make_value<DictValue>();
  auto* before = as<DictValue>(write_to(dict).contents);
  emptied->erased = before != nullptr ? before->erased + 1 : 1;
  write_to(dict).contents = emptied;
  effects_.push_back({EffectKind::DictClear, dict, nullptr, nullptr});
  return true;
}

const Handle<DictValue>& Walk::function_dict(const ValuePtr& value) {
  auto* function = as<FunctionValue>(value);
  if (!function->dict) {
    function->dict = make_value<DictValue>();
    function->dict->owner = function;
    functions_with_dict_.push_back(value);
  }
  return function->dict;
}

Ref Walk::set_contents(const ValuePtr& value) {
  if (auto* made = as<SetValue>(value)) return made->set;
  auto* object = as<ObjectValue>(value);
  if (object == nullptr) return nullptr;
  if (PyFrozenSet_CheckExact(object->object.get())) return constant_of(*this, value);
  if (!PySet_CheckExact(object->object.get()) || object->source == nullptr) return nullptr;
  exact_type(value);
  if (object->writes && object->writes->contents) return as<SetValue>(object->writes->contents)->set;
  if (PySet_GET_SIZE(object->object.get()) > kLongestSet) return nullptr;
  Ref items = check(PySequence_Tuple(object->object));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i) {
    BorrowedRef item = PyTuple_GET_ITEM(items.get(), i);
    if (is_guardable_constant(item)) continue;
    if (!may_be_key(item)) return nullptr;
    if (key_table_.contains(item)) continue;
    ValuePtr held = at(sources().get(SourceKind::SetItem, object->source, nullptr, i), Ref::share(item));
    if (auto* known = as<ObjectValue>(held)) known->value_guarded = true;
    key_table_.set(item, held);
  }
  guards_.set_items(object->source, items.get());
  object->length_guarded = true;
  return check(PySet_New(object->object));
}

void require_own_items(Walk& walk, const ValuePtr& mapping) {
  PyTypeObject* type = type_of(mapping);
  bool is_subclass = type != nullptr && type != &PyDict_Type && PyType_IsSubtype(type, &PyDict_Type);
  if (is_subclass && !inherits(walk, mapping, &PyDict_Type, {"__getitem__"}))
    graph_break(BreakReason::unknown_container, describe(mapping));
}

Ref set_to_merge(Walk& walk, const ValuePtr& value) {
  PyTypeObject* type = type_of(value);
  bool is_exact = type == &PySet_Type || type == &PyFrozenSet_Type;
  bool is_set = type != nullptr && (PyType_IsSubtype(type, &PySet_Type) || PyType_IsSubtype(type, &PyFrozenSet_Type));
  if (is_set && !is_exact) graph_break(BreakReason::unknown_container, "the table of a " + describe(value));
  return walk.set_contents(value);
}

bool Walk::set_change(EffectKind kind, const ValuePtr& value, BorrowedRef item) {
  auto apply = [&](PyObject* set) {
    if (kind == EffectKind::SetAdd) check_status(PySet_Add(set, item));
    if (kind == EffectKind::SetDiscard) check_status(PySet_Discard(set, item));
    if (kind == EffectKind::SetClear) check_status(PySet_Clear(set));
  };
  if (auto* made = as<SetValue>(value)) {
    if (item) keep_apart_in_set(*this, item, made->set.get());
    apply(made->to_change());
    return true;
  }
  auto* object = as<ObjectValue>(value);
  Ref contents = object != nullptr && PySet_CheckExact(object->object.get()) ? set_contents(value) : Ref();
  if (!contents) return false;
  if (item) keep_apart_in_set(*this, item, contents.get());
  if (kind != EffectKind::SetAdd) leave_element_to_python(*this, contents, item);
  PendingWrites& writes = write_to(value);
  if (!writes.contents) writes.contents = make_value<SetValue>(check(PySet_New(contents)));
  apply(as<SetValue>(writes.contents)->set);
  effects_.push_back({kind, value, nullptr, item ? value_of_key(*this, item) : nullptr});
  return true;
}

namespace {

// What a member of a C layout holds: __slots__, fields of built-in types.
Ref in_slot(PyObject* object, BorrowedRef name) {
  PyObject* descriptor = _PyType_Lookup(Py_TYPE(object), name);
  if (descriptor == nullptr || Py_TYPE(descriptor) != &PyMemberDescr_Type) return nullptr;
  Ref held = Ref::steal(
      PyMember_GetOne(reinterpret_cast<char*>(object), reinterpret_cast<PyMemberDescrObject*>(descriptor)->d_member));
  if (!held) PyErr_Clear();
  return held;
}

}  // namespace

void Walk::attribute_store(const ValuePtr& object, BorrowedRef name, ValuePtr value) {
  // Its log holds the items.
  PyObject* known = as<ObjectValue>(object)->object;
  if (PyDict_Check(known) || PyList_Check(known))
    graph_break(BreakReason::store_attribute, "an attribute of an object of a subclass of dict or list");
  PyObject* old = nullptr;
  if (pv_instance_lookup(known, name, &old) > 0) leave_finalizer_to_python(*this, old);
  leave_finalizer_to_python(*this, in_slot(known, name), 3);
  write_to(object).stores.emplace_back(Ref::share(name), value);
  log_store(value ? EffectKind::AttributeSet : EffectKind::AttributeDelete, object, name, value);
}

ValuePtr globals_dict(Walk& walk, const ValuePtr& function) {
  auto* known = as<ObjectValue>(function);
  auto* model = reinterpret_cast<PyFunctionObject*>(known->object.get());
  ValuePtr dict =
      walk.at(walk.sources().get(SourceKind::GlobalsDict, known->source, nullptr), Ref::share(model->func_globals));
  walk.exact_type(dict);
  return dict;
}

bool Walk::any_dict_written_at(BorrowedRef key) const {
  for (const ValuePtr& value : written_) {
    auto* object = as<ObjectValue>(value);
    if (!PyDict_Check(object->object.get())) continue;
    if (object->writes->find(key) != nullptr) return true;
    auto* contents = as<DictValue>(object->writes->contents);
    if (contents == nullptr) continue;
    // What it held under the key may be gone.
    PyObject* before = nullptr;
    if (contents->find(key) >= 0 || lookup_constant(object->object, key, &before) != 0) return true;
    for (const PendingEffect& effect : effects_)
      if (effect.kind == EffectKind::DictClear && as<ObjectValue>(effect.target)->writes == object->writes) return true;
  }
  return false;
}

bool Walk::is_waiting_for_writes(BorrowedRef table, BorrowedRef sign) {
  for (const ValuePtr& value : written_) {
    auto* object = as<ObjectValue>(value);
    if (!PyDict_CheckExact(object->object.get())) continue;
    PyObject* found = nullptr;
    if (object->object.get() == table.get() || lookup_constant(object->object, sign, &found) != 0) return true;
    guards_.dict_contains(object->source, sign, false);
  }
  return false;
}

}  // namespace md
