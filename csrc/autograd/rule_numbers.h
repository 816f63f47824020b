// Values of formulas that are no tensors, and gradients brought to the sizes and dtype of what they are of.
#pragma once
#include <span>

#include "tensor/arg.h"

namespace md {

bool is_of_numbers(std::span<const Arg> args);
// The result of an operator between numbers, strings or lists. Raises Error(Internal) if there is none.
Arg combined(char sign, std::span<const Arg> args);
bool is_true(const Arg& value);

// The gradient of something that was broadcast from these sizes.
Tensor sum_to(Tensor gradient, const DimVec& sizes);
// Itself if it has the dtype; of complex numbers the real parts, if they become real.
Tensor cast_to(Tensor tensor, DType dtype);

}  // namespace md
