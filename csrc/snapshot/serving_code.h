// Code that runs on behalf of minidynamo, not of the program: backends and what they return, fakes and other functions
// called while tracing, guard filters, log handlers, event listeners, finalizers of what captures own. It is never
// captured and runs without a policy; a compiled function that it calls is captured as if called from eager Python.
#pragma once
#include "snapshot/policy.h"

namespace md {

// In this thread, during its lifetime.
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
  bool errors_outside_;  // value for calls outside of compiled code
};

}  // namespace md
