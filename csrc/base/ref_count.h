// The count of an object's owners, shared by threads.
#pragma once
#include <atomic>
#include <cstdint>

namespace md {

class RefCount {
 public:
  void add() { count_.fetch_add(1, std::memory_order_relaxed); }
  // True for the last owner, who then frees the object. A single owner needs no locked instruction: nobody else is there
  // to add to the count.
  bool drop() { return is_one() || count_.fetch_sub(1, std::memory_order_acq_rel) == 1; }
  bool is_one() const { return count_.load(std::memory_order_acquire) == 1; }

 private:
  std::atomic<uint32_t> count_{1};
};

}  // namespace md
