#include "symbolic/state/key_table.h"

#include <algorithm>

#include "symbolic/values/key_proxy.h"

namespace md {

KeyTable::KeyTable() = default;
KeyTable::~KeyTable() = default;

bool KeyTable::contains(BorrowedRef key) const { return keys_.contains(key.get()); }

void KeyTable::add(BorrowedRef key, const ValuePtr& value) { keys_.try_emplace(key.get(), value); }

void KeyTable::set(BorrowedRef key, const ValuePtr& value) { keys_[key.get()] = value; }

void KeyTable::hold(const Ref& key, const ValuePtr& value) {
  owned_keys_.push_back(Ref::share(key.get()));
  set(key, value);
}

ValuePtr KeyTable::find(BorrowedRef key) const {
  auto found = keys_.find(key.get());
  return found != keys_.end() ? found->second : nullptr;
}

bool KeyTable::has_place_of_its_own(BorrowedRef key) const {
  if (is_identity_stand_in(key)) return true;
  if (PyTuple_CheckExact(key.get())) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(key.get()); ++i)
      if (has_place_of_its_own(PyTuple_GET_ITEM(key.get(), i))) return true;
    return false;
  }
  auto found = keys_.find(key.get());
  if (found == keys_.end() || is_key_proxy(key)) return false;
  return found->second->kind == ValueKind::Instance || found->second->kind == ValueKind::Tensor;
}

const KeyTable::UserKey* KeyTable::user_key_of(BorrowedRef stand_in) const {
  auto found = std::ranges::find_if(user_keys_, [&](const UserKey& key) { return key.key.get() == stand_in.get(); });
  return found != user_keys_.end() ? &*found : nullptr;
}

void KeyTable::add_identity(const Handle<IdentityValue>& identity) {
  identities_.push_back(identity);
  set(identity->key.get(), identity);
}

ValuePtr KeyTable::referent_of(BorrowedRef reference) const {
  auto found = referents_.find(reference.get());
  return found != referents_.end() ? found->second : nullptr;
}

void KeyTable::note_reference(BorrowedRef reference, const ValuePtr& referent) {
  referents_[reference.get()] = referent;
}

}  // namespace md
