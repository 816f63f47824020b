// Lowers a graph to a native plan: buffer assignment, fusion groups, one step per group, then the memory plan.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "executor/fusion_groups.h"
#include "executor/step.h"
#include "graph/product_rules.h"
#include "graph/sized_graph.h"

namespace md {

class WritePlacement;

// Shared state of the step builders.
struct LoweringContext {
  const Graph& graph;
  BufferAssignment& places;
  WritePlacement* writes = nullptr;
  std::vector<std::vector<Node*>> users;  // by node index
  std::vector<bool> escapes;              // by node index
  int call_count = 0;                     // kernel calls allocated so far
  const SizedGraph* sized = nullptr;      // if the sizes of the graph, and with it of the plan, will change
  bool keeps_sizes = false;               // for a plan that cannot take other sizes after all
  bool stands_in = false;                 // for a plan with steps that are better where sizes do not change
  bool has_failed_loop = false;           // since it was reset
  std::vector<std::string> in_place;      // writes without a step
  std::vector<Append> appends = {};
  ProductRules rules = {};

  LoweringContext(const Graph& graph, BufferAssignment& places, const SizedGraph* sized)
      : graph(graph), places(places), users(graph.all_users()), escapes(graph.escaping()), sized(sized) {}
  // Whether the node's result must be in memory for readers outside of the group.
  bool is_seen_outside(const Node& node, const Group& group) const;
  // Whether sizes of the node, or of what it reads, will change.
  bool changes(const Node& node) const;
  bool changes(const Group& group) const;
  bool is_weight(ValueRef value) const;
};

struct LoweredStep : StepMemory {
  std::unique_ptr<Step> step;
  std::string note = {};                // why it could not do better, for the plan log
  StepLabel label = {};                 // set when the group is lowered
  std::vector<const Node*> nodes = {};  // of its group; none: of no group
};

// Decides which buffers share memory, and where in the arena they lie.
void place_buffers(Layout& layout, std::span<const StepMemory> steps);

// The step for one node by its eager kernel; always possible.
LoweredStep lower_to_kernel(const Node& node, LoweringContext& context);

}  // namespace md
