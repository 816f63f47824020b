// A chain of pointwise ops and casts in one pass over memory: tiles that stay in the L1 cache, one indirect call per op
// and tile. Operands may be broadcast, strided, or numbers known only at run time.
#pragma once
#include "executor/lowering.h"

namespace md {

// Whether the node can be part of such a chain.
bool can_loop(const Node& node);
// The same, and it takes less than a step of its own even if it is repeated for some hundred elements.
bool is_cheap_in_loop(const Node& node);
// Whether the node reduces rows and can be part of a chain whose tiles are rows.
bool can_fold_rows(const Node& node);

// The step for a pointwise group. `step` is null, with the reason in `note`, if it needs too many registers.
LoweredStep lower_to_loop(const Group& group, LoweringContext& context);

}  // namespace md
