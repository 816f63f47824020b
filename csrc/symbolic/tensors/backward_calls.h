// Calls that run a graph of gradients.
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

// Tensor.backward(gradient=None, retain_graph=None, create_graph=False, inputs=None) of our own tensors
ValuePtr call_backward(Tracer& tracer, const CallArgs& args);
// _run_backward(roots, starts, ends, keeps_graph, creates_graph, checks_nan)
ValuePtr call_run_backward(Tracer& tracer, const CallArgs& args);
// run_backward_into(roots, starts, leaves, keeps_graph, creates_graph): adds to the gradients of the leaves.
ValuePtr call_run_backward_into(Tracer& tracer, const CallArgs& args);
// leave_backward(tensors, why): a backward that does not join the graph, with histories of their own for these tensors,
// or None; without `why` eager code raises.
ValuePtr call_leave_backward(Tracer& tracer, const CallArgs& args);

}  // namespace md
