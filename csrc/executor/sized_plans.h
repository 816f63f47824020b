// Plans of graphs with symbolic sizes. One that is lowered for some sizes takes others, in microseconds; sizes that
// come back often get a plan of their own.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "executor/plan.h"
#include "graph/sized_graph.h"

namespace md {

// A plan whose sizes change while it does not run.
class SizedPlan : public Plan {
 public:
  // Takes the present sizes of its graph. False: it was lowered for sizes that differ too much, and must not run until
  // a call returns true. May throw: the same holds.
  virtual bool take_sizes() = 0;
  // Of the same graph, with its sizes; null if it has none.
  virtual std::shared_ptr<SizedPlan> copy() const = 0;
  // Whether a plan for these sizes alone might run faster.
  virtual bool stands_in() const = 0;
  // Whether the sizes that it took last changed more than where views begin.
  virtual bool has_new_layouts() const = 0;
};

// sizes: "s0 = 4, s1 = 7", for logs.
struct SizedPlanMakers {
  std::function<std::shared_ptr<const Plan>(const std::shared_ptr<const Graph>& concrete, const std::string& sizes)>
      make;
  // A plan for the present sizes of the graph; null, or null as a result: there are only plans for single sizes.
  std::function<std::shared_ptr<SizedPlan>(const std::shared_ptr<const SizedGraph>& sized)> make_for_many = nullptr;
  // Logs a plan that has taken new sizes, if anybody listens.
  bool (*is_logged)() = nullptr;
  void (*log)(const Plan& plan, const Graph& graph, const std::string& sizes) = nullptr;
};

// Returns make(graph) if the graph has no symbols. The plans of the process for single sizes together stay within half
// of config.sized_plans_nbytes; the least recently used is evicted first.
std::shared_ptr<const Plan> plan_for_any_sizes(const std::shared_ptr<const Graph>& graph,
                                               const SizedPlanMakers& makers);

size_t sized_plans_bytes();  // of all of them, as counted

}  // namespace md
