// The plan of a graph in two parts, the second of which has sizes that the first one finds.
#pragma once
#include <memory>

#include "executor/plan.h"
#include "graph/cut.h"

namespace md {

// The plans are those of the parts.
std::shared_ptr<const Plan> cut_plan(std::shared_ptr<const Plan> first, std::shared_ptr<const Plan> second,
                                     size_t values_across);

}  // namespace md
