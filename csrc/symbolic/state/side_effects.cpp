#include "symbolic/state/side_effects.h"

#include <algorithm>

#include "cpython/library_types.h"
#include "cpython/object_layout.h"
#include "guards/constants.h"
#include "guards/guard_set.h"
#include "symbolic/breaks/break_reason.h"
#include "symbolic/breaks/outcomes.h"

namespace md {

namespace {

// Above this, comparing all objects for one write costs too much.
constexpr size_t kMostRelations = 1 << 18;

bool is_plain_instance(PyObject* object) {
  if (Py_IS_TYPE(object, simple_namespace_type())) return true;
  return PyType_HasFeature(Py_TYPE(object), Py_TPFLAGS_HEAPTYPE) && !PyType_Check(object);
}

// Returns true if the object has an attribute dict, which a dict of the program may be.
bool has_attributes(PyObject* object) { return is_plain_instance(object) || PyFunction_Check(object); }

bool is_of_attribute(EffectKind kind) {
  return kind == EffectKind::AttributeSet || kind == EffectKind::AttributeDelete;
}
bool is_delete(EffectKind kind) { return kind == EffectKind::DictDelete || kind == EffectKind::AttributeDelete; }
bool is_store(EffectKind kind) {
  return is_delete(kind) || kind == EffectKind::DictSet || kind == EffectKind::AttributeSet;
}

// The object that represents a key in the trace, instead of the number of an id(). Null: a proxy whose key is no longer
// reachable.
BorrowedRef key_object(const ValuePtr& key) {
  if (auto* identity = as<IdentityValue>(key)) return identity->key.get();
  if (auto* made = as<ConstructedValue>(key)) return made->model.get();
  auto* object = as<ObjectValue>(key);
  return object != nullptr ? object->object.get() : nullptr;
}

size_t place_of_store(const PendingWrites* writes, BorrowedRef key) {
  size_t hash =
      is_guardable_constant(key) ? static_cast<size_t>(PyObject_Hash(key)) : std::hash<const void*>()(key.get());
  return hash * 31 + std::hash<const void*>()(writes);
}

}  // namespace

SideEffects::SideEffects(ValueReader& values, const KeyTable& keys) : values_(values), keys_(keys) {}
SideEffects::~SideEffects() = default;

void SideEffects::add(PendingEffect effect) { log_.push_back(std::move(effect)); }

void SideEffects::add_stored_cell(const ValuePtr& cell) { stored_cells_.push_back(cell); }

void SideEffects::relate_instance_dict(const ValuePtr& instance, const ValuePtr& dict) {
  auto* owner = as<ObjectValue>(instance);
  auto* known = as<ObjectValue>(dict);
  if (!pv_has_instance_storage(owner->object)) return;
  const Source* source = values_.sources().get(SourceKind::InstanceDict, owner->source, nullptr);
  PyObject* attributes = pv_instance_dict(owner->object);
  if (attributes == known->object.get())
    graph_break(BreakReason::unguardable_object, "a dict that holds the attributes of an object");
  if (attributes == nullptr) return values_.guards().absent(source);
  values_.guards().alias(source, known->source, false);
}

void SideEffects::relate(const ValuePtr& written, const ValuePtr& other) {
  if (written == other) return;
  auto *a = as<ObjectValue>(written), *b = as<ObjectValue>(other);
  PyObject *left = a->object, *right = b->object;
  if (left == right) {
    values_.guards().alias(a->source, b->source, true);
    b->writes = a->writes;
  } else if (Py_TYPE(left) == Py_TYPE(right)) {
    values_.guards().alias(a->source, b->source, false);
  } else if (PyDict_Check(left) && has_attributes(right)) {
    relate_instance_dict(other, written);
  } else if (PyDict_Check(right) && has_attributes(left)) {
    relate_instance_dict(written, other);
  }
}

void SideEffects::note_object(const ValuePtr& value) {
  PyObject* object = as<ObjectValue>(value)->object;
  if (!PyList_CheckExact(object) && !Py_IS_TYPE(object, deque_type()) && !PyDict_Check(object) &&
      !PySet_CheckExact(object) && !is_plain_instance(object))
    return;
  objects_.push_back(value);
  for (const ValuePtr& written : written_) relate(written, value);
}

void SideEffects::note_function(const ValuePtr& function) {
  if (std::ranges::find(objects_, function) != objects_.end()) return;
  objects_.push_back(function);
  for (const ValuePtr& written : written_) relate(written, function);
}

void SideEffects::freeze_deques() {
  for (PendingEffect& effect : log_)
    if (effect.kind == EffectKind::DequeAssign && effect.value == as<ObjectValue>(effect.target)->writes->contents)
      effect.value = make_value<SequenceValue>(true, as<SequenceValue>(effect.value)->items);
}

PendingEffect* SideEffects::last_store(const PendingWrites* writes, BorrowedRef key, bool of_attribute) {
  for (; stores_indexed_ < log_.size(); ++stores_indexed_) {
    const PendingEffect& effect = log_[stores_indexed_];
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
    PendingEffect& effect = log_[*at];
    if (as<ObjectValue>(effect.target)->writes.get() == writes && is_of_attribute(effect.kind) == of_attribute &&
        identical_constants(key_object(effect.key), key))
      return &effect;
  }
  return nullptr;
}

void SideEffects::log_store(EffectKind kind, const ValuePtr& target, BorrowedRef key, ValuePtr value) {
  PendingEffect* last =
      is_delete(kind) ? nullptr : last_store(as<ObjectValue>(target)->writes.get(), key, is_of_attribute(kind));
  if (last != nullptr && !is_delete(last->kind)) {
    last->value = std::move(value);
    return;
  }
  ValuePtr found = keys_.find(key);
  log_.push_back({kind, target, found ? found : values_.constant(key), std::move(value)});
}

bool SideEffects::is_shown(size_t effect) const {
  auto after = log_.begin() + static_cast<std::ptrdiff_t>(effect);
  return std::any_of(after, log_.end(), [](const PendingEffect& later) { return later.kind == EffectKind::Output; });
}

std::optional<ValuePtr> written_item(const ValuePtr& dict, BorrowedRef key) {
  const PendingWrites* writes = as<ObjectValue>(dict)->writes.get();
  if (writes == nullptr) return std::nullopt;
  if (auto* contents = as<DictValue>(writes->contents)) {
    int at = contents->find(key);
    return at < 0 ? ValuePtr() : contents->entries[at].value;
  }
  const ValuePtr* stored = writes->find(key);
  return stored != nullptr ? std::optional(*stored) : std::nullopt;
}

const Handle<DictValue>& SideEffects::function_dict(const ValuePtr& value) {
  auto* function = as<FunctionValue>(value);
  if (!function->dict) {
    function->dict = make_value<DictValue>();
    function->dict->owner = function;
    functions_with_dict_.push_back(value);
  }
  return function->dict;
}

bool SideEffects::any_dict_written_at(BorrowedRef key) const {
  for (const ValuePtr& value : written_) {
    auto* object = as<ObjectValue>(value);
    if (!PyDict_Check(object->object.get())) continue;
    if (object->writes->find(key) != nullptr) return true;
    auto* contents = as<DictValue>(object->writes->contents);
    if (contents == nullptr) continue;
    // The old item under the key may have been removed.
    PyObject* before = nullptr;
    if (contents->find(key) >= 0 || lookup_constant(object->object, key, &before) != 0) return true;
    for (const PendingEffect& effect : log_)
      if (effect.kind == EffectKind::DictClear && as<ObjectValue>(effect.target)->writes == object->writes) return true;
  }
  return false;
}

bool SideEffects::is_waiting_for_writes(BorrowedRef table, BorrowedRef sign) {
  for (const ValuePtr& value : written_) {
    auto* object = as<ObjectValue>(value);
    if (!PyDict_CheckExact(object->object.get())) continue;
    PyObject* found = nullptr;
    if (object->object.get() == table.get() || lookup_constant(object->object, sign, &found) != 0) return true;
    values_.guards().dict_contains(object->source, sign, false);
  }
  return false;
}

bool SideEffects::any_class_written_at(BorrowedRef name) const {
  return std::ranges::any_of(
      written_classes_, [&](const ValuePtr& each) { return as<ObjectValue>(each)->writes->find(name) != nullptr; });
}

PendingWrites& SideEffects::write_to(const ValuePtr& value, int64_t step) {
  auto* object = as<ObjectValue>(value);
  MD_ASSERT(object != nullptr, "only pre-existing objects have pending writes");
  if (object->source == nullptr) graph_break(BreakReason::unguardable_object, describe(value));
  if (object->writes) return *object->writes;
  if (objects_.size() * (written_.size() + 1) > kMostRelations)
    graph_break(BreakReason::store_subscript, "too many objects that may be the same one");
  object->writes = std::make_shared<PendingWrites>();
  object->writes->first_step = step;
  object->writes->has_items = PyDict_Check(object->object.get()) || PyList_Check(object->object.get());
  written_.push_back(value);
  dict_written_ = dict_written_ || PyDict_Check(object->object.get());
  for (const ValuePtr& other : objects_) relate(value, other);
  return *object->writes;
}

void SideEffects::add_written_class(const ValuePtr& type, int64_t step) {
  auto* known = as<ObjectValue>(type);
  known->writes = std::make_shared<PendingWrites>();
  known->writes->first_step = step;
  written_.push_back(type);
  written_classes_.push_back(type);
}

void SideEffects::set_locations(size_t first, const Location& location) {
  for (size_t at = first; at < log_.size(); ++at)
    if (log_[at].location == nullptr) log_[at].location = location;
}

CachedCalls& SideEffects::cached_calls(PyObject* cache) { return cached_calls_[cache]; }

void SideEffects::add_reached(std::vector<ValuePtr>& reached) const {
  for (const auto* values : {&objects_, &written_, &stored_cells_, &functions_with_dict_})
    reached.insert(reached.end(), values->begin(), values->end());
  for (const PendingEffect& effect : log_) reached.push_back(effect.value);
}

}  // namespace md
