// Values that hold each other (a list in itself, a function in its own cell, an object written into itself) would outlive the trace.
#pragma once
#include "symbolic/values/value.h"

namespace md {

// Empties everything mutable that is reached from these.
void break_cycles(std::vector<ValuePtr> reached);

}  // namespace md
