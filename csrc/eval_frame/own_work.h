// Scope of internal work that may run Python: traces that import, backends, log handlers. Garbage collection is
// postponed: finalizers would run in the middle of a trace that has read only part of the program's state.
#pragma once
#include "cpython/ref.h"
#include "snapshot/serving_code.h"

namespace md {

class OwnWork {
 public:
  OwnWork() : collects_(PyGC_Disable() != 0) {}
  ~OwnWork() {
    if (collects_) PyGC_Enable();
  }
  OwnWork(const OwnWork&) = delete;
  OwnWork& operator=(const OwnWork&) = delete;

 private:
  ServingCode serving_;
  bool collects_;
};

}  // namespace md
