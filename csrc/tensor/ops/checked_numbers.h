// Numbers in pointwise calls that torch rejects if the dtype cannot hold them; other operands wrap, as arithmetic does.
#pragma once
#include <optional>
#include <string>

#include "tensor/ops/pointwise_form.h"

namespace md {

// The dtype that must hold a number passed as this operand of a loop over `dtype`; nullopt: any number is accepted.
std::optional<DType> checked_operand(int pointwise_row, int operand, DType dtype);
// The dtype that must hold the row's parameter, likewise.
std::optional<DType> checked_param(int pointwise_row, DType dtype);
// Raises RuntimeError if a number of the call must fit and does not.
void check_numbers(const OpCall& call, const PointwiseForm& form, DType dtype);
// With torch's message.
[[noreturn]] void raise_does_not_fit(const std::string& op, DType dtype);

}  // namespace md
