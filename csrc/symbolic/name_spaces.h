// Where a frame looks names up.
#pragma once
#include "symbolic/walk.h"

namespace md {

// The function object whose globals the running frame sees, with its source.
ObjectValue* globals_function(Walk& walk);
// globals()
ValuePtr call_globals(Walk& walk, const CallArgs& args);

}  // namespace md
