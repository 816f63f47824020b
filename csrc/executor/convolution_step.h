// Convolutions in pieces, each followed by the pointwise nodes after it while its result is still in the cache.
#pragma once
#include "executor/lowering.h"

namespace md {

bool is_convolution(const Node& node);
// step is null, with the reason in the note, when oneDNN has no such convolution.
LoweredStep lower_convolution(const Group& group, LoweringContext& context);

}  // namespace md
