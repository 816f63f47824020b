// Steps that are more than a loop or a kernel: an anchor (a matrix product ...) with the pointwise nodes after it. One table.
#pragma once
#include "executor/lowering.h"

namespace md {

bool is_anchor(const Node& node);
// True when the node, a pointwise one over the sizes of the group's anchor, can run after each piece of it.
bool anchor_absorbs(const Group& group, const Node& node);
// step is null, with the reason in the note, when the anchor has no step for these shapes.
LoweredStep lower_anchor(const Group& group, LoweringContext& context);

}  // namespace md
