// Atomic reference count of a shared object.
#pragma once
#include <atomic>
#include <cstdint>

namespace md {

class RefCount {
 public:
  void add() { count_.fetch_add(1, std::memory_order_relaxed); }
  // Returns true if this was the last reference; the caller then frees the object. A sole owner needs no locked
  // instruction, because no other thread can add a reference.
  bool drop() { return is_one() || count_.fetch_sub(1, std::memory_order_acq_rel) == 1; }
  bool is_one() const { return is(1); }
  bool is(uint32_t count) const { return count_.load(std::memory_order_acquire) == count; }

 private:
  std::atomic<uint32_t> count_{1};
};

}  // namespace md
