// Plans of graphs over symbolic sizes: one plan for each set of sizes that came, made when it comes.
#pragma once
#include <memory>
#include <string>

#include "executor/plan.h"

namespace md {

// sizes: "s0 = 4, s1 = 7", for those who tell of the plan.
using GraphPlanMaker = std::shared_ptr<const Plan> (*)(const std::shared_ptr<const Graph>& concrete,
                                                       const std::string& sizes);

// make(graph) where the graph has no symbols. The plans for the sizes of one graph together stay within
// config.sized_plans_nbytes; the one used longest ago goes first.
std::shared_ptr<const Plan> plan_for_any_sizes(const std::shared_ptr<const Graph>& graph, GraphPlanMaker make);

}  // namespace md
