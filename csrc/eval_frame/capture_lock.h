// A lock per code object for capturing it: other threads wait, and find what the first one captured.
#pragma once
#include "eval_frame/code_cache.h"

namespace md {

class CaptureLock {
 public:
  // Waits, without the GIL, while another thread holds the lock; throws PythonError if a
  // signal handler raises. Recursive.
  explicit CaptureLock(CodeCache& cache);
  ~CaptureLock();
  CaptureLock(const CaptureLock&) = delete;
  // False if the other thread did not finish in time, perhaps because it waits for this one.
  bool is_ours() const { return ours_; }
  // Whether there may be a new entry.
  bool waited() const { return waited_; }

 private:
  CodeCache& cache_;
  bool ours_ = false;
  bool owns_ = false;
  bool waited_ = false;
};

}  // namespace md
