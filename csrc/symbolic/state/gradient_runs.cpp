#include "symbolic/state/gradient_runs.h"

#include <algorithm>

#include "graph/views.h"

namespace md {
namespace {

bool contains(const std::vector<ValueRef>& values, ValueRef value) {
  return std::ranges::find(values, value) != values.end();
}

}  // namespace

bool GradientRuns::is_overwritten(ValueRef value) const {
  for (; value.node != nullptr; value = viewed_by(value))
    if (contains(overwritten_, value)) return true;
  return false;
}

bool GradientRuns::is_unrecorded(ValueRef value) const {
  return std::ranges::any_of(unrecorded_, [&](const auto& each) { return each.first == value; });
}

void GradientRuns::note_run(const AppendedGradients& run) {
  if (!any()) first_step_ = step_;
  applied_.insert(run.applied.begin(), run.applied.end());
  saving_.insert(run.saving.begin(), run.saving.end());
}

void GradientRuns::note_leaf(const ValuePtr& leaf) {
  if (std::ranges::find(leaves_, leaf) == leaves_.end()) leaves_.push_back(leaf);
}

bool GradientRuns::is_leaf_value(ValueRef value) const {
  return std::ranges::any_of(leaf_values_, [&](const auto& each) { return each.first == value; });
}

template <typename Visit>
void GradientRuns::visit_history(ValueRef value, Visit visit) const {
  std::unordered_set<const Node*> seen;
  std::vector<ValueRef> pending{value};
  while (!pending.empty()) {
    ValueRef next = pending.back();
    pending.pop_back();
    const ValueInfo& info = next.node->outs[static_cast<size_t>(next.out)];
    if (info.is_scalar || !info.spec.requires_grad || next.node->kind != NodeKind::Op || is_leaf_value(next)) continue;
    if (!seen.insert(next.node).second) continue;
    visit(next);
    for (const Operand& operand : next.node->operands)
      for_each_value(operand, [&](const ValueRef& each) { pending.push_back(each); });
  }
}

int64_t GradientRuns::unrecorded_step(ValueRef value) const {
  if (unrecorded_.empty()) return 0;
  int64_t first = 0;
  visit_history(value, [&](ValueRef met) {
    for (const auto& [written, step] : unrecorded_)
      if (written == met && (first == 0 || step < first)) first = step;
  });
  return first;
}

int64_t GradientRuns::hidden_write_step(ValueRef value) const {
  if (hidden_writes_.empty()) return 0;
  int64_t first = 0;
  auto note = [&](ValueRef each) {
    for (; each.node != nullptr; each = viewed_by(each))
      for (const auto& [overwritten, step] : hidden_writes_)
        if (overwritten == each && (first == 0 || step < first)) first = step;
  };
  visit_history(value, [&](ValueRef met) {
    note(met);
    for (const Operand& operand : met.node->operands) for_each_value(operand, note);
  });
  return first;
}

const GradientRuns::NewLeaf* GradientRuns::new_leaf(ValueRef value) const {
  auto found = std::ranges::find(new_leaves_, value, &NewLeaf::value);
  return found != new_leaves_.end() ? &*found : nullptr;
}

const GradientRuns::NewLeaf* GradientRuns::new_leaf_of(const TensorValue& tensor) const {
  return new_leaf(tensor.base != nullptr ? tensor.base->original : tensor.ref);
}

bool GradientRuns::is_memory_of_new_leaf(const TensorBase& base) const {
  auto is_viewed = [&](const NewLeaf& leaf) { return leaf.viewed.get() == &base; };
  return new_leaf(base.original) != nullptr || std::ranges::any_of(new_leaves_, is_viewed);
}

int64_t GradientRuns::lone_leaf_step(ValueRef value) const {
  if (new_leaves_.empty()) return 0;
  int64_t step = 0;
  bool has_input = false;
  visit_history(value, [&](ValueRef met) {
    if (const NewLeaf* leaf = new_leaf(met)) step = leaf->step;
    for (const Operand& operand : met.node->operands) {
      for_each_value(operand, [&](const ValueRef& each) {
        const ValueInfo& info = each.node->outs[static_cast<size_t>(each.out)];
        bool is_end = each.node->kind != NodeKind::Op || is_leaf_value(each);
        has_input = has_input || (is_end && !info.is_scalar && info.spec.requires_grad);
      });
    }
  });
  return has_input ? 0 : step;
}

GradientRuns::History GradientRuns::history_of(ValueRef value) const {
  bool any_applied = false, any_other = false, any_saving = false;
  // What is not freed matters where it leads to a leaf by itself.
  auto note_other = [&](const ValueRef& operand) {
    const ValueInfo& info = operand.node->outs[static_cast<size_t>(operand.out)];
    bool is_end = operand.node->kind != NodeKind::Op || is_leaf_value(operand) || new_leaf(operand) != nullptr;
    any_other = any_other || (is_end && !info.is_scalar && info.spec.requires_grad);
  };
  visit_history(value, [&](ValueRef met) {
    if (new_leaf(met) != nullptr) return;
    any_saving = any_saving || saving_.contains(met.node);
    if (was_applied(met.node))
      any_applied = true;
    else
      for (const Operand& operand : met.node->operands) for_each_value(operand, note_other);
  });
  if (!any_applied) return History::Live;
  return any_other || !any_saving ? History::Mixed : History::Freed;
}

void GradientRuns::drop_histories() const {
  for (const Node* node : applied_)
    for (ValueInfo& info : const_cast<Node*>(node)->outs) info.spec.requires_grad = false;
}

}  // namespace md
