// The contents of a dict in order, without its hash table: user-defined __hash__ and __eq__ of keys are not called.
#pragma once
#include "cpython/ref.h"

namespace md {

// The items of a dict as a list of pairs; iteration methods of a subclass are not called.
Ref items_of_dict(BorrowedRef dict);

class DictShadow {
 public:
  explicit DictShadow(BorrowedRef dict);

  // A key whose hash runs user code is compared by identity, others by equality.
  void set(BorrowedRef key, BorrowedRef value);
  void erase(BorrowedRef key);
  void clear() { PyDict_Clear(pairs_); }
  // As in items_of_dict().
  Ref items() const { return check(PyDict_Values(pairs_)); }

 private:
  Ref pairs_;  // by token
};

}  // namespace md
