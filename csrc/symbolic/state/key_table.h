// Maps the key objects of traced dicts and sets (non-constants) to their values, and records the identities that the
// program asked for.
#pragma once
#include <unordered_map>
#include <vector>

#include "symbolic/values/value.h"

namespace md {

class KeyTable {
 public:
  KeyTable();
  ~KeyTable();
  ValuePtr find(BorrowedRef key) const;  // null: a constant
  bool contains(BorrowedRef key) const;
  void add(BorrowedRef key, const ValuePtr& value);  // the first value wins
  void set(BorrowedRef key, const ValuePtr& value);
  // Likewise, and owns the key.
  void hold(const Ref& key, const ValuePtr& value);
  // Returns true for a tensor, the proxy of an object created in the trace, the result of id(), and tuples of them:
  // their position in a set differs from run to run.
  bool has_place_of_its_own(BorrowedRef key) const;

  // A key with a user-defined __hash__ or __eq__, or one created in the trace.
  struct UserKey {
    ValuePtr value;
    Ref key;  // null: not created yet
    int64_t step;
  };
  std::vector<UserKey>& user_keys() { return user_keys_; }
  const UserKey* user_key_of(BorrowedRef stand_in) const;  // null if there is none

  // A tensor; the key is the tensor itself, or represents one computed in the trace.
  struct TensorKey {
    ValuePtr value;
    Ref key;
    bool held;  // a guard holds that the object is a key of a pre-existing dict
  };
  std::vector<TensorKey>& tensor_keys() { return tensor_keys_; }

  // The results of id(), in the order of the calls.
  const std::vector<Handle<IdentityValue>>& identities() const { return identities_; }
  void add_identity(const Handle<IdentityValue>& identity);

  // The referent of a weak reference that is a constant of this trace; null if unknown.
  ValuePtr referent_of(BorrowedRef reference) const;
  void note_reference(BorrowedRef reference, const ValuePtr& referent);
  // The weak references to objects created in the trace: one for each object, as in Python.
  std::vector<Handle<ConstructedValue>>& made_references() { return made_references_; }

 private:
  std::unordered_map<PyObject*, ValuePtr> keys_;
  std::vector<Ref> owned_keys_;
  std::vector<UserKey> user_keys_;
  std::vector<TensorKey> tensor_keys_;
  std::vector<Handle<IdentityValue>> identities_;
  std::unordered_map<PyObject*, ValuePtr> referents_;
  std::vector<Handle<ConstructedValue>> made_references_;
};

}  // namespace md
