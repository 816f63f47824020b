// Two-stage plan of a graph: the sizes of the second part are computed by the first.
#pragma once
#include <memory>

#include "executor/plan.h"
#include "graph/cut.h"

namespace md {

// The arguments are the plans of the parts.
std::shared_ptr<const Plan> two_stage_plan(std::shared_ptr<const Plan> first, std::shared_ptr<const Plan> second,
                                           size_t values_across);

}  // namespace md
