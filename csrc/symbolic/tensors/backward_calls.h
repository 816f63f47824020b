// Calls that run a graph of gradients.
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

// Tensor.backward(gradient=None, retain_graph=None, create_graph=False, inputs=None)
ValuePtr call_backward(Tracer& tracer, const CallArgs& args);
// _run_backward(roots, starts, ends, keeps_graph, creates_graph, checks_nan)
ValuePtr call_run_backward(Tracer& tracer, const CallArgs& args);

}  // namespace md
