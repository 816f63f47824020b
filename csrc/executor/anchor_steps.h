// Steps on oneDNN primitives: an anchor (matmul, linear, softmax ...) with the pointwise nodes that its primitive does
// on the way out. One table of patterns.
#pragma once
#include "executor/lowering.h"

namespace md {

bool is_anchor(const Node& node);
// True when the group's primitive can also do this node, which reads the group's last result.
bool anchor_absorbs(const Group& group, const Node& node);
// step is null, with the reason in the note, when oneDNN has no primitive for these shapes.
LoweredStep lower_anchor(const Group& group, LoweringContext& context);

}  // namespace md
