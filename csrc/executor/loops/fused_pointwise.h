// A chain of pointwise ops and casts as one pass over memory: tiles that stay in the first cache level, one indirect
// call per op and tile. Operands broadcast, are strided, or are numbers known at run time only.
#pragma once
#include "executor/lowering.h"

namespace md {

// True when the node can be part of such a chain.
bool can_loop(const Node& node);
// True when the node reduces rows and can be part of one whose tiles are rows.
bool can_fold_rows(const Node& node);

// The step for a pointwise group. step is null, with the reason in the note, when it needs too many registers.
LoweredStep lower_to_loop(const Group& group, LoweringContext& context);

}  // namespace md
