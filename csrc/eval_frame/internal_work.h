// Scope of internal work that may run Python: traces that import, backends, log handlers. Garbage collection is
// postponed: finalizers would run in the middle of a trace that has read only part of the program's state.
#pragma once
#include "cpython/ref.h"
#include "snapshot/serving_code.h"

namespace md {

class InternalWork {
 public:
  InternalWork() : collects_(PyGC_Disable() != 0) {}
  ~InternalWork() {
    if (collects_) PyGC_Enable();
  }
  InternalWork(const InternalWork&) = delete;
  InternalWork& operator=(const InternalWork&) = delete;

 private:
  ServingCode serving_;
  bool collects_;
};

}  // namespace md
