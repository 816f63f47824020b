// Breaks reference cycles of values (a list in itself, a function in its own cell, an object stored in itself), which
// would outlive the trace.
#pragma once
#include "symbolic/values/value.h"

namespace md {

// Empties everything mutable that is reachable from these.
void break_cycles(std::vector<ValuePtr> reached);

}  // namespace md
