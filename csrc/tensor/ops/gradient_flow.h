// Which ops take part in gradients.
#pragma once
#include "tensor/ops/op_row.h"

namespace md {

// Whether a floating result requires grad if an operand does and the mode permits it.
bool passes_gradient(const OpRow& row);

}  // namespace md
