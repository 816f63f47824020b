// Runs of plans that are long enough for other threads to have the GIL meanwhile.
#pragma once
#include "cpython/ref.h"
#include "executor/plan.h"

namespace md {

inline bool is_long(const Plan& plan) {
  constexpr double kReleaseGilAboveNs = 50'000;
  return !plan.needs_gil() && plan.estimated_ns() > kReleaseGilAboveNs;
}

// Without the GIL until the end of the scope, unless `release` is false.
class GilRelease {
 public:
  explicit GilRelease(bool release) : state_(release ? PyEval_SaveThread() : nullptr) {}
  ~GilRelease() {
    if (state_ != nullptr) PyEval_RestoreThread(state_);
  }
  GilRelease(const GilRelease&) = delete;

 private:
  PyThreadState* state_;
};

}  // namespace md
