// Keys with a user-defined __hash__ or __eq__, in dicts and sets created in the trace: both are called as often as
// Python calls them, and in its order.
#include "symbolic/facts/user_keys.h"

#include <algorithm>
#include "guards/constants.h"
#include "symbolic/attributes/attributes.h"
#include "symbolic/breaks/break_reason.h"
#include "symbolic/breaks/outcomes.h"
#include "symbolic/calls/calls.h"
#include "symbolic/calls/user_operators.h"
#include "symbolic/facts/enum_values.h"
#include "symbolic/facts/value_facts.h"
#include "symbolic/values/key_proxy.h"

namespace md {

namespace {

bool is_made_here(const ValuePtr& container) {
  auto* dict = as<DictValue>(container);
  return container->kind == ValueKind::Set || (dict != nullptr && !dict->type && dict->owner == nullptr);
}

// The keys of a dict or set created in the trace; null for other containers.
std::unique_ptr<std::vector<Ref>> keys_held(const ValuePtr& container) {
  if (!is_made_here(container)) return nullptr;
  auto keys = std::make_unique<std::vector<Ref>>();
  if (auto* set = as<SetValue>(container)) {
    Ref items = check(PySequence_Tuple(set->set));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i)
      keys->push_back(Ref::share(PyTuple_GET_ITEM(items.get(), i)));
    return keys;
  }
  for (const DictValue::Entry& entry : as<DictValue>(container)->entries) keys->push_back(entry.key);
  return keys;
}

bool holds_same(const std::vector<Ref>& before, const std::vector<Ref>& after) {
  return std::ranges::equal(before, after, [](const Ref& a, const Ref& b) { return a.get() == b.get(); });
}

[[noreturn]] void break_on_key(const std::string& context) { graph_break(BreakReason::unhashable_key, context); }

// The look-up of one key in a container.
class KeySearch {
 public:
  KeySearch(Tracer& tracer, ValuePtr container, ValuePtr value, Ref key)
      : tracer_(tracer),
        container_(std::move(container)),
        value_(std::move(value)),
        key_(std::move(key)),
        is_own_(is_key_proxy(key_.get())) {}

  // Returns the equal key in the container, or the key itself.
  Ref run() {
    std::vector<Ref> held = *keys_held(container_);
    std::vector<Ref> met;  // keys with the same hash that must be compared
    hash_ = PyObject_Hash(key_);
    bool asks = false;
    for (const Ref& other : held) {
      bool other_own = is_key_proxy(other.get());
      if ((is_own_ && has_place(other)) || (other_own && has_unknown_hash()))
        break_on_key("keys of both kinds of hash in one container");
      if (other.get() != key_.get() && PyObject_Hash(other) != hash_) continue;
      met.push_back(other);
      asks = asks || (other.get() != key_.get() && (is_own_ || other_own));
    }
    if (asks && met.size() > 1) put_in_order(met);
    Ref found = find(met, held);
    // Keys in one container differ from each other.
    for (const Ref& other : met)
      if (other.get() != found.get()) note_difference(found, other.get());
    return found;
  }

 private:
  Ref find(const std::vector<Ref>& met, const std::vector<Ref>& held) {
    for (const Ref& other : met) {
      if (other.get() == key_.get()) return key_;
      if (is_equal(other, held)) return other;
    }
    return key_;
  }

  // Puts the keys in the order in which a look-up compares them. In a dict that is the order of its entries, unless one
  // was removed before.
  void put_in_order(std::vector<Ref>& met) {
    if (auto* set = as<SetValue>(container_)) {
      met = elements_met(set->set, hash_);
      return;
    }
    auto* dict = as<DictValue>(container_);
    if (!dict->displayed || dict->erased != 0) break_on_key("several keys of one hash");
  }

  // Returns true if the key is hashed by its address.
  bool has_place(const Ref& key) const { return !is_key_proxy(key.get()) && !is_guardable_constant(key.get()); }

  // Returns true if the hash differs from run to run.
  bool has_unknown_hash() const { return tracer_.keys().has_place_of_its_own(key_); }

  bool is_equal(const Ref& other, const std::vector<Ref>& held) {
    if (!is_own_ && !is_key_proxy(other.get())) {
      int equal = PyObject_RichCompareBool(other, key_, Py_EQ);
      check_status(equal);
      return equal == 1;
    }
    std::optional<bool> equal = equal_by_methods(tracer_, value_of_key(tracer_, other.get()), value_);
    if (!equal) break_on_key(describe(value_));
    auto after = keys_held(container_);
    if (!after || !holds_same(held, *after)) break_on_key("a container that changes while it is searched");
    return *equal;
  }

  Tracer& tracer_;
  const ValuePtr container_, value_;
  Ref key_;
  bool is_own_;
  Py_hash_t hash_ = 0;
};

}  // namespace

Ref hash_by_method(Tracer& tracer, const ValuePtr& value, const ValuePtr& method) {
  ValuePtr result = call_now(tracer, method, {{value}, {}});
  Ref number = constant_of(tracer, result);
  if (!number || !PyLong_CheckExact(number.get())) raise_here();
  Py_ssize_t hash = PyLong_AsSsize_t(number);
  if (hash == -1 && PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    hash = PyObject_Hash(number);
  }
  return check(PyLong_FromSsize_t(hash == -1 ? -2 : hash));
}

KeyTable::UserKey& user_key(Tracer& tracer, const ValuePtr& value) {
  for (KeyTable::UserKey& key : tracer.keys().user_keys())
    if (key.value == value || (value->kind == ValueKind::Object && same_object(tracer, key.value, value))) return key;
  tracer.keys().user_keys().push_back({value, nullptr, tracer.step_number()});
  return tracer.keys().user_keys().back();
}

Ref hashed_key(Tracer& tracer, const ValuePtr& value) {
  static PyObject* const kHash = PyUnicode_InternFromString("__hash__");
  auto* object = as<ObjectValue>(value);
  // A member of a number or text enum has the hash and equality of the number or text, which are guarded; as a key it
  // remains itself.
  if (object != nullptr && is_user_object(value) && plain_value(tracer, value, {"__hash__", "__eq__"})) {
    Ref member = object->object;
    tracer.keys().add(member, value);
    return member;
  }
  if (!is_user_object(value) || (object != nullptr && may_be_key(object->object))) return key_of(tracer, value);
  int64_t step = tracer.step_number();
  if (ValuePtr method = user_method(tracer, value, kHash)) {
    Ref number = hash_by_method(tracer, value, method);
    Py_hash_t hash = PyLong_AsSsize_t(number);
    KeyTable::UserKey& key = user_key(tracer, value);
    if (key.key && (!is_key_proxy(key.key.get()) || hash_of_stand_in(key.key.get()) != hash))
      break_on_key("an object whose hash changes");
    if (!key.key) {
      key.key = make_key_proxy(hash);
      key.step = step;
      tracer.keys().set(key.key.get(), key.value);
    }
    return key.key;
  }
  // An object created in the trace that equals only itself: it is hashed by address, and no user code compares it.
  if (value->kind != ValueKind::Instance || !inherits(tracer, value, &PyBaseObject_Type, {"__hash__", "__eq__"}))
    return key_of(tracer, value);
  KeyTable::UserKey& key = user_key(tracer, value);
  if (!key.key) {
    key.key = check(PyObject_CallNoArgs(reinterpret_cast<PyObject*>(&PyBaseObject_Type)));
    tracer.keys().set(key.key.get(), value);
  }
  return key.key;
}

// Takes copies: a reference may refer into a stack, which a call may move.
Ref key_in(Tracer& tracer, ValuePtr container, ValuePtr value) {
  bool made_here = is_made_here(container);
  Ref key = made_here ? hashed_key(tracer, value) : key_of(tracer, value);
  if (!made_here || tracer.keys().user_keys().empty()) return key;
  return KeySearch(tracer, container, value, key).run();
}
int64_t user_key_step(Tracer& tracer, BorrowedRef stand_in) {
  const KeyTable::UserKey* key = tracer.keys().user_key_of(stand_in);
  return key != nullptr ? key->step : tracer.instruction_step();
}

}  // namespace md
