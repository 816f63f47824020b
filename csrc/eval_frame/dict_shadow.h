// What is in a dict, in its order, without its hash table: keys with a __hash__ or __eq__ of the program's own are not asked.
#pragma once
#include "cpython/ref.h"

namespace md {

// The items of a dict, as a list of pairs; a subclass's own ways to iterate are not asked.
Ref items_of_dict(BorrowedRef dict);

class DictShadow {
 public:
  explicit DictShadow(BorrowedRef dict);

  // A key whose hash runs code of the program's is the object itself, others are what they equal.
  void set(BorrowedRef key, BorrowedRef value);
  void erase(BorrowedRef key);
  void clear() { PyDict_Clear(pairs_); }
  // As items_of_dict().
  Ref items() const { return check(PyDict_Values(pairs_)); }

 private:
  Ref pairs_;  // by token
};

}  // namespace md
