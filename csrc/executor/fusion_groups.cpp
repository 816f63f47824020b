#include "executor/fusion_groups.h"

#include <algorithm>
#include <climits>
#include <span>

#include "executor/write_chains.h"
#include "graph/passes.h"

namespace md {
namespace {

std::ptrdiff_t first_after_anchor(const Group& group) {
  return group.kind != GroupKind::Anchor ? 0 : group.is_laid_out ? 2 : 1;
}

class Grouping {
 public:
  Grouping(const Graph& graph, const BufferAssignment& places, const NodeUses& uses, const GroupingRules& rules)
      : graph_(graph), places_(places), uses_(uses), rules_(rules), is_used_(leading_outside(graph)) {}

  std::vector<Group> run() {
    group_of_.assign(graph_.nodes().size(), -1);
    readers_.resize(places_.layout().buffers.size());
    is_waiting_.assign(graph_.nodes().size(), false);
    std::vector<const Node*> anchors;
    for (const auto& node : graph_.nodes()) {
      if (node->kind != NodeKind::Op) continue;
      bool lays_out = lays_out_anchor(*node);
      if (!lays_out) add_waiting_operands(*node);
      add_waiting_readers(*node);
      if (lays_out || rules_.is_anchor(*node)) {
        is_waiting_[static_cast<size_t>(node->index)] = true;
        anchors.push_back(node.get());
      } else {
        add(*node);
      }
      note_reads(*node);
    }
    for (const Node* anchor : anchors) add_if_waiting(*anchor);
    std::vector<Group> result;
    for (Draft& draft : drafts_) {
      if (draft.group.nodes.empty()) continue;
      // An anchor stays first: the nodes fused with it do not feed it.
      std::sort(draft.group.nodes.begin() + first_after_anchor(draft.group), draft.group.nodes.end(),
                [](const Node* a, const Node* b) { return a->index < b->index; });
      result.push_back(std::move(draft.group));
    }
    return result;
  }

 private:
  // By node index: whether it leads to an output or to a node with effects.
  static std::vector<bool> leading_outside(const Graph& graph) {
    std::vector<bool> leads(graph.nodes().size(), false);
    auto mark = [&](const ValueRef& value) { leads[static_cast<size_t>(value.node->index)] = true; };
    for (const ValueRef& output : graph.outputs()) mark(output);
    for (size_t i = graph.nodes().size(); i-- > 0;) {
      const Node& node = *graph.nodes()[i];
      if (!leads[i] && (node.kind != NodeKind::Op || node.op->is_pure())) continue;
      for (const Operand& operand : node.operands) for_each_value(operand, mark);
    }
    return leads;
  }

  struct Draft {
    Group group;
    int first_reader = INT_MAX;  // lowest-numbered group that reads from this one
    int moved_into = -1;         // the group that absorbed this one
  };

  // -1 for a leaf. Groups are only merged into groups with higher numbers, so the loop ends.
  int group_of(const Node& node) const {
    int id = group_of_[static_cast<size_t>(node.index)];
    while (id >= 0 && drafts_[static_cast<size_t>(id)].moved_into >= 0)
      id = drafts_[static_cast<size_t>(id)].moved_into;
    return id;
  }
  Draft& draft(int id) { return drafts_[static_cast<size_t>(id)]; }

  // The groups that the node reads from, highest first.
  std::vector<int> producers(const Node& node) const {
    std::vector<int> ids;
    for (const Operand& operand : node.operands) {
      for_each_value(operand, [&](const ValueRef& value) {
        int id = group_of(*value.node);
        if (id >= 0) ids.push_back(id);
      });
    }
    std::sort(ids.rbegin(), ids.rend());
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    return ids;
  }

  // An anchor is scheduled before its first reader, so that the reader's other operands come before it: the factors of
  // a batch norm after a convolution, for example.
  void add_waiting_operands(const Node& node) {
    for (const Operand& operand : node.operands) {
      for_each_value(operand, [&](const ValueRef& value) { add_if_waiting(*value.node); });
    }
  }
  void add_if_waiting(const Node& node) {
    if (!is_waiting_[static_cast<size_t>(node.index)]) return;
    is_waiting_[static_cast<size_t>(node.index)] = false;
    add_waiting_operands(node);
    add(node);
  }

  // Whether the node alone reads an anchor, whose step computes the result as it lays it out.
  bool lays_out_anchor(const Node& node) const {
    const auto* read = node.operands.empty() ? nullptr : std::get_if<ValueRef>(&node.operands[0]);
    if (read == nullptr || read->node->kind != NodeKind::Op || !rules_.is_anchor(*read->node)) return false;
    auto at = static_cast<size_t>(read->node->index);
    return rules_.lays_out(*read->node, node) && uses_.users[at].size() == 1 && !uses_.escapes[at];
  }

  // A write comes after what reads the elements that it replaces, so that it can be made in place.
  std::span<const Node* const> earlier_readers(const Node& node) const {
    const ValueRef* self = written_operand(node, places_);
    if (self == nullptr) return {};
    return readers_[static_cast<size_t>(places_.place(*self).buffer)];
  }
  void add_waiting_readers(const Node& node) {
    for (const Node* reader : earlier_readers(node)) add_if_waiting(*reader);
  }
  void note_reads(const Node& node) {
    for_each_read(node, places_, [&](int value, size_t) {
      int buffer = places_.layout().places[static_cast<size_t>(value)].buffer;
      if (buffer >= 0) readers_[static_cast<size_t>(buffer)].push_back(&node);
    });
  }

  void add(const Node& node) {
    std::vector<int> from = producers(node);
    // A view does not run, but its readers read the group of its base.
    if (places_.is_alias(node)) {
      group_of_[static_cast<size_t>(node.index)] = from.empty() ? -1 : from[0];
      return;
    }
    int id = choose(node, from);
    draft(id).group.nodes.push_back(&node);
    group_of_[static_cast<size_t>(node.index)] = id;
    bool is_first_of_anchor = draft(id).group.kind == GroupKind::Anchor && draft(id).group.nodes.size() == 1;
    if (draft(id).group.kind != GroupKind::Single && !is_first_of_anchor) absorb_producers(id, node, from);
    for (int producer : from) {
      if (producer != id) draft(producer).first_reader = std::min(draft(producer).first_reader, id);
    }
    for (const Node* reader : earlier_readers(node)) {
      int other = group_of(*reader);
      if (other >= 0 && other != id) draft(other).first_reader = std::min(draft(other).first_reader, id);
    }
  }

  int choose(const Node& node, const std::vector<int>& from) {
    bool folds = rules_.folds_rows(node);
    // A loop computes only values that are used. A node that runs only because it may raise is left to its kernel.
    bool raises_alone = !is_used_[static_cast<size_t>(node.index)] && must_run(node);
    bool pointwise = folds || (!raises_alone && rules_.is_pointwise(node));
    bool is_anchor = rules_.is_anchor(node);
    Draft fresh;
    if (!from.empty()) {
      fresh.group.reason = obstacle(from[0], node, pointwise, is_anchor);
      if (fresh.group.reason == NotFused::none) {
        draft(from[0]).group.folds_rows |= folds;
        return from[0];
      }
      fresh.group.producer = draft(from[0]).group.nodes.back();
    }
    if (is_anchor) {
      fresh.group.kind = GroupKind::Anchor;
    } else if (pointwise) {
      fresh.group.kind = GroupKind::Pointwise;
    }
    if (fresh.group.kind != GroupKind::Single) fresh.group.sizes = sizes_of(node, folds);
    fresh.group.folds_rows = folds;
    drafts_.push_back(std::move(fresh));
    return static_cast<int>(drafts_.size()) - 1;
  }

  // Why the node cannot join the group; none: it can.
  NotFused obstacle(int id, const Node& node, bool pointwise, bool is_anchor) {
    Draft& target = draft(id);
    if (target.group.kind == GroupKind::Anchor && target.group.nodes.size() == 1 && lays_out_anchor(node)) {
      target.group.is_laid_out = true;
      return NotFused::none;
    }
    NotFused apart = is_anchor ? NotFused::primitive : pointwise ? NotFused::after_kernel : NotFused::own_kernel;
    if (target.group.kind == GroupKind::Single || !pointwise || is_anchor) return apart;
    bool folds = rules_.folds_rows(node);
    if (folds && target.group.kind == GroupKind::Anchor) return apart;
    // A reduction of per-row values has rows of its own.
    bool joins = same(target.group.sizes, sizes_of(node, folds)) || (!folds && is_over_rows(target.group, node));
    if (!joins) return NotFused::other_sizes;
    if (!reads_directly(node, id)) return NotFused::through_view;
    if (!reads_by_rows(node, id)) return NotFused::other_sizes;
    if (target.group.kind == GroupKind::Anchor && !rules_.absorbs(target.group, node)) return NotFused::other_order;
    bool is_full = static_cast<int>(target.group.nodes.size()) >= most_nodes(target.group, folds);
    return is_full ? NotFused::full : NotFused::none;
  }

  int most_nodes(const Group& group, bool folds) const {
    bool any_folds = folds || group.folds_rows;
    return any_folds ? rules_.most_folding_nodes(group.sizes) : rules_.max_pointwise_nodes;
  }

  // The sizes of the node's loop: for a reduction those of its operand.
  static const DimVec& sizes_of(const Node& node, bool folds) {
    if (!folds) return node.outs[0].spec.sizes;
    const ValueRef& read = std::get<ValueRef>(node.operands[0]);
    return read.node->outs[static_cast<size_t>(read.out)].spec.sizes;
  }

  // Whether it has one element per row of the group.
  static bool is_over_rows(const Group& group, const Node& node) {
    const DimVec& sizes = node.outs[0].spec.sizes;
    return group.folds_rows && sizes.size() == group.sizes.size() && has_one_per_row(sizes, group.sizes);
  }

  // Whether each value of the group is read as its loop computes it: over the group's sizes, or one element per row. A
  // reduction that drops the last dim would be broadcast along another one.
  bool reads_by_rows(const Node& node, int id) {
    const Group& group = draft(id).group;
    bool fits = true;
    for (const Operand& operand : node.operands) {
      for_each_value(operand, [&](const ValueRef& value) {
        if (value.node->kind != NodeKind::Op || group_of(*value.node) != id) return;
        fits &= same(value.node->outs[0].spec.sizes, group.sizes) || is_over_rows(group, *value.node);
      });
    }
    return fits;
  }

  // A view's elements may be in another order, or its sizes may differ from the loop's.
  bool reads_directly(const Node& node, int id) const {
    bool direct = true;
    for (const Operand& operand : node.operands) {
      for_each_value(operand, [&](const ValueRef& value) {
        bool in_group = value.node->kind == NodeKind::Op && group_of(*value.node) == id;
        if (in_group && places_.is_alias(*value.node)) direct = false;
      });
    }
    return direct;
  }

  // Merges producers that are loops of the same size into the node's group if nothing in between reads them.
  void absorb_producers(int id, const Node& node, std::vector<int>& from) {
    for (int& producer : from) {
      if (producer == id) continue;
      Draft& other = draft(producer);
      Draft& target = draft(id);
      bool runs_along = same(other.group.sizes, target.group.sizes) || is_repeated(producer, id, node);
      bool fits = other.group.kind == GroupKind::Pointwise && runs_along && other.first_reader > id &&
                  reads_directly(node, producer) && reads_by_rows(node, producer) &&
                  may_join(other.group, target.group) &&
                  static_cast<int>(other.group.nodes.size() + target.group.nodes.size()) <=
                      most_nodes(target.group, other.group.folds_rows);
      if (!fits) continue;
      target.group.folds_rows |= other.group.folds_rows;
      target.group.nodes.insert(target.group.nodes.end(), other.group.nodes.begin(), other.group.nodes.end());
      target.first_reader = std::min(target.first_reader, other.first_reader);
      other.group.nodes.clear();
      other.moved_into = id;
      producer = id;
    }
  }

  // Whether the producer computes one element, cheaply, for the group alone, which `node` joins.
  bool is_repeated(int producer, int id, const Node& node) const {
    constexpr int64_t kMostElements = 1024;
    const Group& single = drafts_[static_cast<size_t>(producer)].group;
    const Group& target = drafts_[static_cast<size_t>(id)].group;
    auto is_one = [](Dim size) { return same(size, Dim(1)); };
    if (!std::ranges::all_of(single.sizes, is_one) || single.folds_rows) return false;
    if (target.kind != GroupKind::Pointwise || target.folds_rows || target.sizes.size() < single.sizes.size())
      return false;
    int64_t elements = 1;
    for (Dim size : target.sizes) elements *= size.hint();
    if (elements > kMostElements) return false;
    auto is_within = [&](const Node* user) {
      int group = group_of(*user);
      return !places_.is_alias(*user) && (user == &node || group == producer || group == id);
    };
    return std::ranges::all_of(single.nodes, [&](const Node* each) {
      auto at = static_cast<size_t>(each->index);
      return rules_.is_cheap(*each) && !uses_.escapes[at] && std::ranges::all_of(uses_.users[at], is_within);
    });
  }

  bool may_join(const Group& joining, const Group& target) const {
    return target.kind == GroupKind::Pointwise ||
           (!joining.folds_rows && std::all_of(joining.nodes.begin(), joining.nodes.end(),
                                               [&](const Node* node) { return rules_.absorbs(target, *node); }));
  }

  const Graph& graph_;
  const BufferAssignment& places_;
  const NodeUses& uses_;
  const GroupingRules& rules_;
  const std::vector<bool> is_used_;  // by node index
  std::vector<int> group_of_;
  std::vector<bool> is_waiting_;                   // by node index: an anchor that has not been read yet
  std::vector<std::vector<const Node*>> readers_;  // by buffer, of the nodes so far
  std::vector<Draft> drafts_;
};

}  // namespace

bool has_one_per_row(const DimVec& own, const DimVec& sizes) {
  int last = sizes.size() - 1;
  if (own.size() != last && !(own.size() == last + 1 && same(own[last], Dim(1)))) return false;
  for (int d = 0; d < last; ++d) {
    if (!same(own[d], sizes[d])) return false;
  }
  return true;
}

const Node& anchor_result(const Group& group) { return *group.nodes[group.is_laid_out ? 1 : 0]; }

Group after_anchor(const Group& group) {
  Group rest;
  rest.kind = GroupKind::Pointwise;
  rest.nodes.assign(group.nodes.begin() + first_after_anchor(group), group.nodes.end());
  rest.sizes = group.sizes;
  return rest;
}

std::vector<Group> group_nodes(const Graph& graph, const BufferAssignment& places, const NodeUses& uses,
                               const GroupingRules& rules) {
  return Grouping(graph, places, uses, rules).run();
}

}  // namespace md
