// What a loop does of a group: which of its operations, as what, and in which order.
#pragma once
#include <unordered_map>
#include <vector>

#include "executor/loops/loop_op.h"
#include "executor/lowering.h"

namespace md {

// Rows that are folded are the loop's tiles, or, when they are short, taken apart: the loop runs over what is left of
// each row, and does the operations on the row's first elements, its second ones, and so on, one after another.
class LoopGroup {
 public:
  LoopGroup(const Group& group, LoweringContext& context);

  const std::vector<const Node*>& nodes() const { return nodes_; }  // in the order of the code
  bool by_rows() const { return by_rows_; }                         // tiles are rows, which are folded
  int64_t steps() const { return steps_; }                          // elements of a row that is taken apart, 0: none is
  bool is_unrolled() const { return steps_ > 0; }
  const DimVec& sizes() const { return group_.sizes; }
  // Without the dim that is taken apart.
  std::vector<int64_t> loop_sizes() const;

  LoopOp parse(const Node& node) const;
  // The variance or deviation of the rows that `mean` is of, where its fold can leave the mean beside its own result.
  const Node* spread_beside(const Node& mean, const LoopOp& op) const;
  // One element for each row.
  bool is_over_rows(const Node& node) const { return group_.folds_rows && !same(node.outs[0].spec.sizes, sizes()); }
  bool all_results_are_folded() const;
  bool contains(const Operand& operand) const;
  // The node whose chosen rows this value would be, which are read where they lie; null: it is no such value.
  const Node* gather_of(int value) const;

  const Place& place(int value) const { return context_.places.layout().places[static_cast<size_t>(value)]; }
  int number(const Node* node) const { return context_.places.number({const_cast<Node*>(node), 0}); }
  int number(const Operand& operand) const { return context_.places.number(std::get<ValueRef>(operand)); }

 private:
  const Operand* square_within(const Node& fold, const LoopOp& op) const;
  bool is_within_fold(const Node& node) const;
  bool leaves_mean(const Node& spread, const LoopOp& op) const;
  void choose_order();
  bool can_join_a_run(const Node& node) const;
  void take_with_operands(const Node& node);

  const Group& group_;
  LoweringContext& context_;
  bool by_rows_ = false;
  int64_t steps_ = 0;
  std::vector<const Node*> computed_;  // of the group, that the loop computes
  std::vector<const Node*> nodes_;
  std::unordered_map<int, const Node*> gather_of_;  // by value
};

}  // namespace md
