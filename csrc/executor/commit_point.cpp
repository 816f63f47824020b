#include "executor/commit_point.h"

#include <algorithm>

#include "executor/write_chains.h"
#include "graph/failing_ops.h"

namespace md {
namespace {

bool fails_by_data(const Node& node) { return may_fail(*node.op, node.operands, node.outs); }

// Whether a loop over the group's sizes copies rows that it reads again and again, for some sizes.
bool packs_rows(const Group& group, const Node& node, const BufferAssignment& places, const SizedGraph* sized) {
  bool found = !keeps_layout(node, sized);
  for (const Operand& operand : node.operands) {
    for_each_value(operand, [&](const ValueRef& value) {
      if (value.node->outs[static_cast<size_t>(value.out)].is_scalar) return;
      const TensorSpec& spec = places.place(value).spec;
      found = found || !keeps_layout(*value.node, sized) || (!same(spec.sizes, group.sizes) && !spec.is_contiguous());
    });
  }
  return found;
}

}  // namespace

CommitPoint::CommitPoint(std::span<const Group> groups, const BufferAssignment& places, CommitRules rules) {
  for (const Group& group : groups) failures_.push_back(failure_of(group, places, rules));
  later_.resize(groups.size(), kNever);
  flagged_later_.resize(groups.size(), false);
  for (size_t i = groups.size(); i-- > 1;) {
    later_[i - 1] = std::min(later_[i], failures_[i].node);
    flagged_later_[i - 1] = flagged_later_[i] || failures_[i].is_flagged;
  }
}

CommitPoint::Failure CommitPoint::failure_of(const Group& group, const BufferAssignment& places, CommitRules rules) {
  Failure failure;
  auto fails = [&](const Node* node, bool is_midway) {
    failure.node = std::min(failure.node, node->index);
    failure.is_midway = failure.is_midway || is_midway;
  };
  for (const Node* node : group.nodes) {
    if (rules.sees_flags && may_raise_float_flags(*node)) {
      fails(node, true);
      failure.is_flagged = true;
    }
    if (is_loop(group)) {
      // Numbers are checked, and rows packed, before anything is written.
      if (fails_by_data(*node) || packs_rows(group, *node, places, rules.sized)) fails(node, false);
    } else if (fails_by_data(*node) || !is_steady(*node->op)) {
      fails(node, node->op->kind != OpKind::Write);
    }
  }
  for (const Node* node : group.gathers) fails(node, true);
  if (group.sums != nullptr) fails(group.sums, true);
  return failure;
}

int CommitPoint::first_failure(int step) const {
  MD_ASSERT(step >= 0, "a write is made by some step");
  const Failure& own = failures_[static_cast<size_t>(step)];
  int later = later_[static_cast<size_t>(step)];
  return own.is_midway ? std::min(own.node, later) : later;
}

bool CommitPoint::may_be_flagged(int step) const {
  return failures_[static_cast<size_t>(step)].is_flagged || flagged_later_[static_cast<size_t>(step)];
}

}  // namespace md
