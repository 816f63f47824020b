// Decides which nodes run in one step. A group contains pointwise nodes over one iteration space, or an
// anchor (a matrix product ...) followed by pointwise nodes over its sizes, which run on each piece of its
// result. Pointwise groups may include reductions over the last dim and pointwise nodes over their results:
// the loop then runs row by row.
// Cheap nodes of one element may run in the loop that alone reads them, once for each of its elements, if these are
// few. Soundness: groups run in the order of their numbers, and every operand from another group comes from a
// lower-numbered one. Nodes are visited in topological order. A node joins only the highest-numbered group among its
// operands' groups; a lower group is merged into that one only if nothing in between reads it. So there are no cycles,
// and grouping takes linear time in the size of the graph.
#pragma once
#include <vector>

#include "executor/buffer_assignment.h"
#include "executor/plan_facts.h"

namespace md {

enum class GroupKind : uint8_t { Single, Pointwise, Anchor, Attention, ChosenRows };

struct Group {
  GroupKind kind = GroupKind::Single;
  std::vector<const Node*> nodes;    // in graph order, except that an anchor comes first
  NotFused reason = NotFused::none;  // why it is not fused into the group of its producer
  const Node* producer = nullptr;    // the last node of that group
  bool is_laid_out = false;          // the second node of an Anchor group lays its result out: the anchor computes that
  DimVec sizes = {};                 // iteration space of a Pointwise or Anchor group
  bool folds_rows = false;           // a Pointwise group that contains reductions over the last dim
  // Of an Attention group: the scores, the softmax, the product with the weights. Of a ChosenRows group: the group
  // without its gathers. Of a Pointwise group: its rolls, and itself without them.
  std::vector<Group> parts = {};
  // A ChosenRows group is a loop that reads the rows selected by these, and adds them up where this one does.
  std::vector<const Node*> gathers = {};
  const Node* sums = nullptr;
  // Rolls whose operands a Pointwise group's loop reads in the order of their results.
  std::vector<const Node*> turned = {};
};

// Whether the group's step is a loop over its elements, not a kernel.
inline bool is_loop(const Group& group) {
  return group.kind == GroupKind::Pointwise && !(group.folds_rows && group.nodes.size() == 1);
}

// Whether values of the sizes `own` have one element for each row of `sizes`: all dims but the last, which is 1 or left
// out.
bool has_one_per_row(const DimVec& own, const DimVec& sizes);

// The pointwise nodes of an anchor group.
Group after_anchor(const Group& group);
// The node whose value the anchor's step computes.
const Node& anchor_result(const Group& group);

// Whether the node can run in a tile loop: a pointwise op or cast with operands of supported kinds.
using IsPointwise = bool (*)(const Node& node);
// Whether the node reduces the last dim of its operand and can run in a tile loop whose tiles are rows.
using FoldsRows = bool (*)(const Node& node);
// Whether the node starts an anchor group; then which pointwise nodes may be in it.
using IsAnchor = bool (*)(const Node& node);
using Absorbs = bool (*)(const Group& group, const Node& node);
// Whether the anchor's step can compute its result in the layout of the node, a copy.
using LaysOut = bool (*)(const Node& anchor, const Node& node);

struct GroupingRules {
  IsPointwise is_pointwise;
  IsPointwise is_cheap;
  FoldsRows folds_rows;
  IsAnchor is_anchor;
  Absorbs absorbs;
  LaysOut lays_out;
  int max_pointwise_nodes = 64;
  // Maximum number of nodes in a group that reduces rows of these sizes.
  int (*most_folding_nodes)(const DimVec& sizes);
};

// The readers of each node, and whether its value is seen outside of the graph: by node index.
struct NodeUses {
  const std::vector<std::vector<Node*>>& users;
  const std::vector<bool>& escapes;
};

// Groups in execution order. Nodes that are pure aliases are in no group.
std::vector<Group> group_nodes(const Graph& graph, const BufferAssignment& places, const NodeUses& uses,
                               const GroupingRules& rules);

}  // namespace md
