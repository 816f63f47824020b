// Work of this library's own that may run Python: walks that import, backends, log handlers. Frames reached from it are nobody's
// to capture, and garbage is collected later: finalizers would run in the middle of a walk that has seen half of the program's state.
#pragma once
#include "cpython/ref.h"

namespace md {

class OwnWork {
 public:
  OwnWork() : collects_(PyGC_Disable() != 0) { ++depth_; }
  ~OwnWork() {
    --depth_;
    if (collects_) PyGC_Enable();
  }
  OwnWork(const OwnWork&) = delete;
  OwnWork& operator=(const OwnWork&) = delete;
  static bool in_progress() { return depth_ > 0; }  // in this thread

 private:
  static inline thread_local int depth_ = 0;
  bool collects_;
};

}  // namespace md
