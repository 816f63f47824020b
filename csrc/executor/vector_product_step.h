// The product of two vectors, without the tensors that a kernel takes.
#pragma once
#include "executor/lowering.h"

namespace md {

// The step is null if the node is no such product of float32 or float64.
LoweredStep lower_vector_product(const Node& node, LoweringContext& context);

}  // namespace md
