// Convolutions in pieces, each followed by its pointwise nodes while the result is still in the cache.
#pragma once
#include "executor/lowering.h"

namespace md {

bool is_convolution(const Node& node);
// `step` is null, with the reason in `note`, if oneDNN has no such convolution.
LoweredStep lower_convolution(const Group& group, LoweringContext& context);

}  // namespace md
