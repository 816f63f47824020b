// Asking for a call that writes something out (deferred_output.h).
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

struct OutputRequest {
  Ref callable;  // a C function or a function of the standard library; process-lifetime
  CallArgs args;
  bool runs_python = false;  // code that is not known, with these arguments: all fixed or made for this call
  BreakReason reason;
  std::string context;
};

// A call that writes something out, to be made at the exit. Breaks for the reason of the request where that would not be what Python
// does.
void queue_output(Tracer& tracer, OutputRequest request);

}  // namespace md
