// One thread at a time captures a code object: others that ask for it wait, and find what the first one made.
#pragma once
#include "eval_frame/code_cache.h"

namespace md {

class CaptureTurn {
 public:
  // Waits, without the GIL, while another thread has the turn; throws PythonError when a signal handler raises. A thread
  // that has it already goes on.
  explicit CaptureTurn(CodeCache& cache);
  ~CaptureTurn();
  CaptureTurn(const CaptureTurn&) = delete;
  // False: the other thread did not end in good time, because it may wait for this one.
  bool is_ours() const { return ours_; }
  // There may be a new entry.
  bool waited() const { return waited_; }

 private:
  CodeCache& cache_;
  bool ours_ = false;
  bool gives_back_ = false;
  bool waited_ = false;
};

}  // namespace md
