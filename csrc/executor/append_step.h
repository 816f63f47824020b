// cat that appends to its first operand in place.
#pragma once
#include "executor/lowering.h"
#include "graph/appends.h"

namespace md {

LoweredStep lower_append(const Append& append, LoweringContext& context);

}  // namespace md
