// Whether a compiled function has captured anything: if not, its first call says so in the log, with the reason.
#pragma once
#include <cstdint>

#include "cpython/ref.h"
#include "eval_frame/capture_record.h"
#include "symbolic/state/loop_decision.h"

namespace md {

// Around a call. Calls that find nothing to trace, as all is known, tell nothing.
class WatchedCall {
 public:
  WatchedCall();
  // The call has returned. Logs one warning if it has traced frames, run no plan, and left something to Python.
  void report(BorrowedRef function) const;

 private:
  bool has_run_plan() const;
  CaptureRecording captures_;
  LoopRecording loops_;
  int64_t plans_before_, suppressed_before_;
};

}  // namespace md
