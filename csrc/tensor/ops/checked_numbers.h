// Numbers of pointwise calls that torch refuses where the dtype cannot hold them; other operands wrap, as arithmetic does.
#pragma once
#include <optional>
#include <string>

#include "tensor/ops/pointwise_form.h"

namespace md {

// The dtype that must hold a number as this operand of a loop over `dtype`; nothing: any number is taken.
std::optional<DType> checked_operand(int pointwise_row, int operand, DType dtype);
// Whether the row's parameter must fit the dtype.
bool checks_param(int pointwise_row);
// Raises RuntimeError for a number of the call that must fit and does not.
void check_numbers(const OpCall& call, const PointwiseForm& form, DType dtype);
// In torch's words.
[[noreturn]] void raise_does_not_fit(const std::string& op, DType dtype);

}  // namespace md
