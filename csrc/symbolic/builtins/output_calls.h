// print, logging and warnings: calls that are queued as outputs.
#pragma once
#include "symbolic/state/deferred_output.h"

namespace md {

// The attribute of a loaded module; null if it is missing, or the module is not loaded (guarded).
ValuePtr loaded_name(Tracer& tracer, const char* module, const char* name);
// Returns true for arguments that can be passed to the call at the exit: a pre-existing object, a constant, a tuple of
// these.
bool can_be_given(const ValuePtr& value);

}  // namespace md
