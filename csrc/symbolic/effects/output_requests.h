// Requests to queue a call that writes something out (deferred_output.h).
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

struct OutputRequest {
  Ref callable;  // a C function or a function of the standard library; never released
  CallArgs args;
  // may run unknown Python code with these arguments: all are fixed, or created for this call
  bool runs_python = false;
  BreakReason reason;
  std::string context;
};

// Queues a call that writes something out, to be made at the exit. Breaks for the reason of the request if that would
// not be equivalent.
void queue_output(Tracer& tracer, const OutputRequest& request);

}  // namespace md
