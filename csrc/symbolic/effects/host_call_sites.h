// Where code is called at run time: the frames of the trace as they are there.
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

// Whether an exception that leaves the region here finds no handler and no state that was to be committed before it.
bool may_call_host(const Tracer& tracer);
// Whether what the frames hold here can be described, for an exception that does.
bool may_describe_failure(const Tracer& tracer);
// Frames whose state is described for an exception of the current instruction: all but those that C code waits for.
size_t described_frames(const Tracer& tracer);
// The frames as they are, for what is called here at run time. Returns the number of the site. `locals` are the values that
// they hold; with `failure`, also what they are to be should the call raise, in terms of those values.
int add_host_call_site(Tracer& tracer, std::vector<ValueRef>& locals, std::vector<ValueRef>* failure);
void add_frames(const Tracer& tracer, HostCallSite& site);

}  // namespace md
