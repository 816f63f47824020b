// The description of a plan, as Python objects.
#pragma once
#include <pybind11/pybind11.h>

#include "executor/plan.h"

namespace md {

// {"steps": [{"text", "kernel", "nodes", "why", "bytes", "flops", "fastest_ns", "mean_ns", "least_ns"}], "places",
// "arena_nbytes", "runs", "fastest_ns", "mean_ns"}; the times are None if nothing was measured.
pybind11::dict plan_facts(const Plan& plan);

}  // namespace md
