// What stands behind the keys of dicts and the elements of sets that are no constants, and behind what has its own identity.
#pragma once
#include <unordered_map>
#include <vector>

#include "symbolic/values/value.h"

namespace md {

class KeyTable {
 public:
  ValuePtr find(BorrowedRef key) const;  // null: a constant
  bool contains(BorrowedRef key) const { return keys_.contains(key.get()); }
  void add(BorrowedRef key, const ValuePtr& value) { keys_.try_emplace(key.get(), value); }  // the first stays
  void set(BorrowedRef key, const ValuePtr& value) { keys_[key.get()] = value; }
  // Stands in a dict or set for an object made here: where in a set differs from run to run.
  bool has_place_of_its_own(BorrowedRef key) const;

  // An object with a __hash__ and __eq__ of the program's own, or made here.
  struct UserKey {
    ValuePtr value;
    Ref key;  // null: not made yet
    int64_t step;
  };
  std::vector<UserKey>& user_keys() { return user_keys_; }
  const UserKey* user_key_of(BorrowedRef stand_in) const;  // null: none

  // Numbers of id(), in the order in which they were asked for.
  const std::vector<Handle<IdentityValue>>& identities() const { return identities_; }
  void add_identity(const Handle<IdentityValue>& identity);

  // What a weak reference, a constant of this trace, refers to; null: not known.
  ValuePtr referent_of(BorrowedRef reference) const;
  void note_reference(BorrowedRef reference, const ValuePtr& referent) { referents_[reference.get()] = referent; }

 private:
  std::unordered_map<PyObject*, ValuePtr> keys_;
  std::vector<UserKey> user_keys_;
  std::vector<Handle<IdentityValue>> identities_;
  std::unordered_map<PyObject*, ValuePtr> referents_;
};

}  // namespace md
