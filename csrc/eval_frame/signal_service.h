// Signal handlers for signals that arrive while a plan runs. Until the run's first write or call that the
// program can observe, they run between steps, and one that raises aborts the run without effects; afterwards
// they wait until the region is left.
#pragma once
#include <cstdint>

#include "cpython/errors.h"

namespace md {

// Thrown if a signal handler raised between two steps: its exception is set.
struct SignalRaised : PythonError {};

// Makes plans poll for signals from now on.
void serve_signals_in_plans();

// Total number of times that handlers ran between steps. Values read by a region may have changed after each.
int64_t signals_served();

// Runs pending handlers after a region has been left and its effects applied. Returns false with
// an exception set if one raised.
bool run_waiting_handlers();

}  // namespace md
