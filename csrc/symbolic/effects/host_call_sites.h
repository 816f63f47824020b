// Sites of calls at run time: the frames of the trace at that point.
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

// Returns true if an exception that leaves the region here meets no handler, and no state that must be committed before
// it.
bool may_call_host(const Tracer& tracer);
// Returns true if the state of the frames here can be described for an exception.
bool may_describe_failure(const Tracer& tracer);
// The number of frames described for an exception of the current instruction: all except those run by a pending call of
// C code.
size_t described_frames(const Tracer& tracer);
// Adds a site with the current frames, for a call by the current instruction at run time; returns its index. `locals`
// receives the values that the frames hold; `failure`, if given, those that describe the frames after an exception of
// the call. Without `shows_locals` the frames are empty: what is called looks at lines alone.
int add_host_call_site(Tracer& tracer, std::vector<ValueRef>& locals, std::vector<ValueRef>* failure,
                       bool shows_locals = true);
void add_frames(const Tracer& tracer, HostCallSite& site);

}  // namespace md
