#include "executor/loops/loop_group.h"

#include <algorithm>

#include "executor/loops/gather_rows.h"
#include "executor/loops/loop_draft.h"
#include "executor/loops/loop_iteration.h"

namespace md {

LoopGroup::LoopGroup(const Group& group, LoweringContext& context) : group_(group), context_(context) {
  bool is_short = group.folds_rows && folds_short_rows(group.sizes);
  by_rows_ = group.folds_rows && !is_short;
  if (is_short) steps_ = group.sizes[group.sizes.size() - 1].value();
  for (const Node* node : group.nodes) {
    bool is_gather = std::find(group.gathers.begin(), group.gathers.end(), node) != group.gathers.end();
    if (is_gather) {
      gather_of_[number(node)] = node;
    } else if (node != group.sums) {
      computed_.push_back(node);
    }
  }
  for (const Node* node : group.turned) turned_of_[number(node)] = node;
  choose_order();
}

std::vector<int64_t> LoopGroup::loop_sizes() const { return loop_extents(sizes(), is_unrolled()); }

const Node* LoopGroup::gather_of(int value) const {
  auto found = gather_of_.find(value);
  return found == gather_of_.end() ? nullptr : found->second;
}

const Node* LoopGroup::turned_of(int value) const {
  auto found = turned_of_.find(value);
  return found == turned_of_.end() ? nullptr : found->second;
}

bool LoopGroup::contains(const Operand& operand) const {
  const Node* node = std::get<ValueRef>(operand).node;
  return std::find(computed_.begin(), computed_.end(), node) != computed_.end();
}

LoopOp LoopGroup::parse(const Node& node) const {
  if (group_.folds_rows) {
    if (std::optional<LoopOp> fold = as_fold(node)) {
      if (const Operand* squared = square_within(node, *fold)) {
        fold->operands[0] = squared;
        fold->fold.run = fold->fold.of_squares;
      }
      if (leaves_mean(node, *fold)) fold->fold.run = fold->fold.with_mean;
      return *fold;
    }
  }
  LoopOp op = *as_loop_op(node);
  op.is_single = by_rows_ && is_over_rows(node);
  return op;
}

// The operand of a square that is summed by `fold`, if the square has no other readers:
// the reduction computes it itself.
const Operand* LoopGroup::square_within(const Node& fold, const LoopOp& op) const {
  if (!by_rows_ || op.fold.of_squares == nullptr || !contains(*op.operands[0])) return nullptr;
  const Node& square = *std::get<ValueRef>(*op.operands[0]).node;
  const auto& readers = context_.users[static_cast<size_t>(square.index)];
  bool is_alone = std::all_of(readers.begin(), readers.end(), [&](const Node* reader) { return reader == &fold; });
  return is_alone && !context_.is_seen_outside(square, group_) ? squared_operand(square) : nullptr;
}

bool LoopGroup::is_within_fold(const Node& node) const {
  const auto& readers = context_.users[static_cast<size_t>(node.index)];
  if (!by_rows_ || readers.empty()) return false;
  std::optional<LoopOp> fold = as_fold(*readers[0]);
  return fold && std::get<ValueRef>(*fold->operands[0]).node == &node && square_within(*readers[0], *fold) != nullptr;
}

const Node* LoopGroup::spread_beside(const Node& mean, const LoopOp& op) const {
  if (!by_rows_ || op.fold.mean_beside == nullptr) return nullptr;
  auto found = std::find_if(group_.nodes.begin(), group_.nodes.end(), [&](const Node* node) {
    std::optional<LoopOp> other = as_fold(*node);
    return other && other->fold.with_mean != nullptr && !context_.is_seen_outside(*node, group_) &&
           std::get<ValueRef>(*other->operands[0]) == std::get<ValueRef>(mean.operands[0]);
  });
  return found == group_.nodes.end() ? nullptr : *found;
}

bool LoopGroup::leaves_mean(const Node& spread, const LoopOp& op) const {
  if (op.fold.with_mean == nullptr) return false;
  return std::any_of(group_.nodes.begin(), group_.nodes.end(), [&](const Node* node) {
    std::optional<LoopOp> other = as_fold(*node);
    return other && spread_beside(*node, *other) == &spread;
  });
}

// Delays operations that have machine code until they are needed, to get long fused sequences.
void LoopGroup::choose_order() {
  if (!uses_machine_code()) {
    std::copy_if(computed_.begin(), computed_.end(), std::back_inserter(nodes_),
                 [&](const Node* node) { return !is_within_fold(*node); });
    return;
  }
  for (const Node* node : computed_) {
    if (!can_join_a_run(*node)) take_with_operands(*node);
  }
  for (const Node* node : computed_) take_with_operands(*node);
}

bool LoopGroup::can_join_a_run(const Node& node) const {
  LoopOp op = parse(node);
  CodeInstruction code = {.row = op.row, .dtype = op.dtype, .result = op.result, .operand_count = op.operand_count};
  return op.fold.run == nullptr && !op.is_single && has_machine_code(code);
}

void LoopGroup::take_with_operands(const Node& node) {
  if (std::find(nodes_.begin(), nodes_.end(), &node) != nodes_.end()) return;
  for (const Operand& operand : node.operands) {
    if (is_tensor(operand) && contains(operand)) take_with_operands(*std::get<ValueRef>(operand).node);
  }
  if (!is_within_fold(node)) nodes_.push_back(&node);
}

bool LoopGroup::all_results_are_folded() const {
  return std::all_of(nodes_.begin(), nodes_.end(),
                     [&](const Node* node) { return is_over_rows(*node) || !context_.is_seen_outside(*node, group_); });
}

}  // namespace md
