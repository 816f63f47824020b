// Steps that are more than a loop or a kernel: an anchor (a matrix product ...) followed by pointwise nodes. One table.
#pragma once
#include "executor/lowering.h"

namespace md {

bool is_anchor(const Node& node);
// Whether the node, pointwise over the sizes of the group's anchor, can run on each piece of its result.
bool anchor_absorbs(const Group& group, const Node& node);
bool anchor_lays_out(const Node& anchor, const Node& node);
// `step` is null, with the reason in `note`, if the anchor has no step for these shapes.
LoweredStep lower_anchor(const Group& group, LoweringContext& context);

}  // namespace md
