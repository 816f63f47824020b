// Results of roll() that a loop reads where their operand lies, in another order, instead of a copy.
#pragma once
#include <optional>
#include <vector>

#include "executor/fusion_groups.h"
#include "executor/loops/loop_program.h"
#include "executor/lowering.h"

namespace md {

// The operand of a roll() along dims.
std::optional<ValueRef> turned_operand(const Node& node);
// How the elements of its result follow from those of the operand, which has these strides.
Turn turn_of(const Node& node, const TensorSpec& operand);
// Joins rolls of fixed sizes to the loop that alone reads their results.
void join_turned(std::vector<Group>& groups, const LoweringContext& context);

}  // namespace md
