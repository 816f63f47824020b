// Where the keys of a long dict of the trace, or of its stores into one from outside, are, so that a look-up does not compare it from its start: an instruction that
// puts n keys into a dict takes n steps, not n * n.
#pragma once
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "cpython/ref.h"

namespace md {

class KeyIndex {
 public:
  // Shorter ones are compared from their start, and so are longer ones at first: an index pays when it is used often.
  static constexpr size_t kShort = 16;
  static constexpr int kScans = 32;

  // Whether asking for its hash runs no code of a program's: of an exact built-in type, or hashed by its address.
  static bool has_plain_hash(BorrowedRef key);

  // Begins anew after a dict whose entries moved, which its count of erased entries tells. False: compare from the start.
  bool worth(size_t count, int64_t erased);
  // The next entry that add() has to be told of.
  size_t covered() const { return covered_; }
  void add(BorrowedRef key);
  // Where a key that is equal may be: those with its hash, then those of which only a comparison tells.
  const std::vector<int>& with_hash_of(BorrowedRef key) const;
  const std::vector<int>& others() const { return others_; }

 private:
  std::unordered_map<Py_hash_t, std::vector<int>> places_;
  std::vector<int> others_;
  size_t covered_ = 0;
  int64_t erased_ = 0;
  int scans_ = 0;
};

}  // namespace md
