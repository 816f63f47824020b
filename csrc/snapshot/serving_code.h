// Code that serves a frame instead of being the program's: backends and what they return, fakes and other functions that are run while
// tracing, guard filters, log handlers, listeners of events, finalizers of what captures held. It is never captured and runs outside of
// any policy; a compiled function that it calls is captured as one that plain Python calls.
#pragma once
#include "snapshot/policy.h"

namespace md {

// In this thread, while it lives.
class ServingCode {
 public:
  ServingCode() : none_(nullptr), errors_outside_(exchange_error_on_graph_break(false)) { ++depth_; }
  ~ServingCode() {
    --depth_;
    exchange_error_on_graph_break(errors_outside_);
  }
  ServingCode(const ServingCode&) = delete;
  ServingCode& operator=(const ServingCode&) = delete;
  static bool in_progress() { return depth_ > 0; }

 private:
  static inline thread_local int depth_ = 0;
  AmbientPolicy none_;
  bool errors_outside_;  // of the calls that plain Python makes
};

}  // namespace md
