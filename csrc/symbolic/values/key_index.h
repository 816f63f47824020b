// Index of the keys of a long traced dict, or of the stores into a pre-existing one, so that a look-up is not linear:
// an instruction that puts n keys into a dict takes n steps, not n * n.
#pragma once
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "cpython/ref.h"

namespace md {

class KeyIndex {
 public:
  // Shorter dicts are scanned, and so are longer ones at first: an index pays off only when it is used often.
  static constexpr size_t kShort = 16;
  static constexpr int kScans = 32;

  // Returns true if hashing the key runs no user code: it is of an exact built-in type, or hashed by its address.
  static bool has_plain_hash(BorrowedRef key);

  // Resets the index if entries have moved, which the count of erased entries shows. Returns false if a scan is
  // cheaper.
  bool worth(size_t count, int64_t erased);
  // The next entry to be passed to add().
  size_t covered() const { return covered_; }
  void add(BorrowedRef key);
  // Positions where an equal key may be: those with its hash, then those that can only be compared.
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
