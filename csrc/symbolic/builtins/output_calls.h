// print, logging and warnings: calls that are queued as outputs.
#pragma once
#include "symbolic/state/deferred_output.h"

namespace md {

// What a module that is loaded has under a name; null: nothing, or the module is not loaded (guarded).
ValuePtr loaded_name(Tracer& tracer, const char* module, const char* name);
// An argument that known or unknown code may be given when the region is left: an object that exists, a constant, a tuple of these.
bool can_be_given(const ValuePtr& value);

}  // namespace md
