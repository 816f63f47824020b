// Lowers a graph to a native plan: buffer assignment, fusion groups, one step per group, then the memory plan.
#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "executor/fusion_groups.h"
#include "executor/step.h"

namespace md {

// Shared state of the step builders.
struct LoweringContext {
  const Graph& graph;
  BufferAssignment& places;
  std::vector<std::vector<Node*>> users;  // by node index
  std::vector<bool> escapes;              // by node index
  int call_count = 0;                     // kernel calls allocated so far

  LoweringContext(const Graph& graph, BufferAssignment& places)
      : graph(graph), places(places), users(graph.all_users()), escapes(graph.escaping()) {}
  // Whether the node's result must be in memory for readers outside of the group.
  bool is_seen_outside(const Node& node, const Group& group) const;
};

struct LoweredStep {
  std::unique_ptr<Step> step;
  std::vector<int> touched = {};                    // values in memory that it reads or writes
  std::vector<std::pair<int, int>> may_share = {};  // (result, operand): the result may overwrite the operand
  std::string note = {};                            // why it could not do better, for the plan log
  StepLabel label = {};                             // set when the group is lowered
};

// The step for one node by its eager kernel; always possible.
LoweredStep lower_to_kernel(const Node& node, LoweringContext& context);

}  // namespace md
