// Maps a call of an op to a pointwise row, its operands and its parameter.
#pragma once
#include <cstdint>
#include <span>

#include "tensor/ops/op_row.h"

namespace md {

// Depends only on which arguments are None, on strings, and on Scalars where a number selects a cheaper row (alpha=1,
// exponent 2): pass an undefined Tensor for anything unknown, including run-time numbers.
struct PointwiseForm {
  int row = -1;           // of pointwise.def
  int operands[3] = {};   // argument indices
  int operand_count = 0;  // = the row's arity
  int param = -1;         // argument index of the row's first parameter, -1 if there is none
};
// Requires op.pointwise >= 0. Throws Error(Runtime) for an unknown rounding_mode or approximate.
PointwiseForm pointwise_form(const OpRow& op, std::span<const Arg> args);

// Raises RuntimeError "ZeroDivisionError" if one of the n integers is zero. Returns whether one of them is -1.
bool check_divisor(const OpRow& op, DType dtype, const void* divisor, int64_t n);

}  // namespace md
