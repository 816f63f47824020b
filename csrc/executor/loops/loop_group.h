// Selects the operations of a group that a loop computes, their form, and their order.
#pragma once
#include <unordered_map>
#include <vector>

#include "executor/loops/loop_op.h"
#include "executor/lowering.h"

namespace md {

// If rows are reduced, they are the loop's tiles; short rows are unrolled instead: the loop runs over the remaining
// dims and applies the operations to the first elements of each row, then the second ones, and so on.
class LoopGroup {
 public:
  LoopGroup(const Group& group, LoweringContext& context);

  const std::vector<const Node*>& nodes() const { return nodes_; }  // in execution order
  bool by_rows() const { return by_rows_; }                         // tiles are rows, which are reduced
  int64_t steps() const { return steps_; }                          // length of an unrolled row, 0 if rows are not
                                                                    // unrolled
  bool is_unrolled() const { return steps_ > 0; }
  const DimVec& sizes() const { return group_.sizes; }
  // Without the unrolled dim.
  std::vector<int64_t> loop_sizes() const;

  LoopOp parse(const Node& node) const;
  // The variance or standard deviation of the same rows as `mean`, if its reduction can also store the mean.
  const Node* spread_beside(const Node& mean, const LoopOp& op) const;
  // Whether it has one element per row.
  bool is_over_rows(const Node& node) const { return group_.folds_rows && !same(node.outs[0].spec.sizes, sizes()); }
  bool all_results_are_folded() const;
  bool contains(const Operand& operand) const;
  // The gather whose result this value is, if its rows are read in place; else null.
  const Node* gather_of(int value) const;
  // The roll whose result it is, if its operand is read in place; else null.
  const Node* turned_of(int value) const;

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
  std::vector<const Node*> computed_;  // of the group, computed by the loop
  std::vector<const Node*> nodes_;
  std::unordered_map<int, const Node*> gather_of_;  // by value
  std::unordered_map<int, const Node*> turned_of_;  // by value
};

}  // namespace md
