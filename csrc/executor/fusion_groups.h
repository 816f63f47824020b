// Which nodes run in one step. A group may hold pointwise nodes over one iteration space, or an anchor (a matrix product
// ...) first and then pointwise nodes over its sizes, which run on each piece of its result. Among pointwise nodes may be
// reductions over the last dim and pointwise nodes over what they leave: the loop then goes row by row.
//
// Soundness: groups run in the order of their numbers, and every operand from outside a group comes from a group with
// a lower number. Nodes are taken in an order in which each follows its operands. A node joins only the highest-numbered group among its operands' groups; a lower group moves up into
// it only if nothing in between reads it. So no cycle can arise, and grouping is linear in the size of the graph.
#pragma once
#include <vector>

#include "executor/plan_facts.h"
#include "executor/value_places.h"

namespace md {

enum class GroupKind : uint8_t { Single, Pointwise, Anchor, Attention, ChosenRows };

struct Group {
  GroupKind kind = GroupKind::Single;
  std::vector<const Node*> nodes;    // in graph order, but an anchor comes first
  NotFused reason = NotFused::none;  // why it does not go on with the group of its producer
  const Node* producer = nullptr;    // the last node of that group
  DimVec sizes = {};                 // that a Pointwise or Anchor group runs over
  bool folds_rows = false;           // a Pointwise group with reductions over the last dim among its nodes
  // Of an Attention group: the scores, the softmax, what the weights mix. Of a ChosenRows group: what it is without it.
  std::vector<Group> parts = {};
  // A ChosenRows group is a loop that reads rows where these find them, and adds them up where this one does.
  std::vector<const Node*> gathers = {};
  const Node* sums = nullptr;
};

// The pointwise nodes of an anchor group.
Group after_anchor(const Group& group);

// True when the node can run in a tile loop: a pointwise op or cast whose operands are of kinds that the loop takes.
using IsPointwise = bool (*)(const Node& node);
// True when the node reduces the last dim of what it reads and can run in a tile loop whose tiles are rows.
using FoldsRows = bool (*)(const Node& node);
// True when the node starts an anchor group; then which pointwise nodes may be in it.
using IsAnchor = bool (*)(const Node& node);
using Absorbs = bool (*)(const Group& group, const Node& node);

struct GroupingRules {
  IsPointwise is_pointwise;
  FoldsRows folds_rows;
  IsAnchor is_anchor;
  Absorbs absorbs;
  int max_pointwise_nodes = 64;
  // The most nodes of a group that folds rows of these sizes.
  int (*most_folding_nodes)(const DimVec& sizes);
};

// Groups in the order in which they run. Nodes that are places only are in no group.
std::vector<Group> group_nodes(const Graph& graph, const ValuePlaces& places, const GroupingRules& rules);

}  // namespace md
