// Graph to native plan: places for values, groups of nodes, one step per group, then the memory plan.
#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "executor/fusion_groups.h"
#include "executor/step.h"

namespace md {

// What a step builder knows.
struct LoweringContext {
  const Graph& graph;
  ValuePlaces& places;
  std::vector<std::vector<Node*>> users;  // by node index
  std::vector<bool> escapes;              // by node index
  int call_count = 0;                     // kernel calls handed out so far

  LoweringContext(const Graph& graph, ValuePlaces& places)
      : graph(graph), places(places), users(graph.all_users()), escapes(graph.escaping()) {}
  // The node's result must be in memory although the group's other nodes can have it from each other.
  bool is_seen_outside(const Node& node, const Group& group) const;
};

struct LoweredStep {
  std::unique_ptr<Step> step;
  std::vector<int> touched = {};                    // values that it reads or writes in memory
  std::vector<std::pair<int, int>> may_share = {};  // (result, operand): the result may lie over the operand
  std::string note = {};                            // why it is not better, for the plan log
  StepLabel label = {};                             // filled in when the group is lowered
};

// The step for one node by its eager kernel; always possible.
LoweredStep lower_to_kernel(const Node& node, LoweringContext& context);

}  // namespace md
