// Handlers of signals that arrive while a plan runs. Until the program can see a first write or call of the run, they run between
// its steps, and one that raises ends it with nothing done; from then on they wait until the region is left.
#pragma once
#include <cstdint>

#include "cpython/errors.h"

namespace md {

// What a handler has raised between two steps: the exception is set.
struct SignalRaised : PythonError {};

// From now on plans ask.
void serve_signals_in_plans();

// Times that handlers have run between steps, ever. What a region has read may be another thing after each.
int64_t signals_served();

// Where a region has been left, its effects applied: runs the handlers that wait. False with an exception set: one has raised.
bool run_waiting_handlers();

}  // namespace md
