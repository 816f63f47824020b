// Members of flag classes (enum.Flag) for combinations of flags. The class makes each when it is first asked for, and
// keeps it.
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

// Before a call of a class: adds the member that the call is about to make. No program sees when it came.
void add_flag_member(Tracer& tracer, PyTypeObject* type, const CallArgs& args);

}  // namespace md
