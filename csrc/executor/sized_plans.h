// Plans of graphs with symbolic sizes: one plan per set of sizes, lowered on first use.
#pragma once
#include <memory>
#include <string>

#include "executor/plan.h"

namespace md {

// sizes: "s0 = 4, s1 = 7", for logs.
using GraphPlanMaker = std::shared_ptr<const Plan> (*)(const std::shared_ptr<const Graph>& concrete,
                                                       const std::string& sizes);

// Returns make(graph) if the graph has no symbols. The plans for the sizes of one graph together stay within
// config.sized_plans_nbytes; the least recently used is evicted first.
std::shared_ptr<const Plan> plan_for_any_sizes(const std::shared_ptr<const Graph>& graph, GraphPlanMaker make);

}  // namespace md
