// Inner loops of pointwise functions, from pointwise.def: one for each (row, dtype), built for three instruction-set
// levels.
#pragma once
#include <cstdint>
#include <span>

#include "tensor/arg.h"
#include "tensor/pointwise_table.h"

namespace md {

struct OpRow;

std::span<const PointwiseRow> pointwise_rows();
int find_pointwise(std::string_view name);  // -1: none. The rows of the table are the values of Pointwise.

// Bit i of scalar_mask: operand i is one element, of dtype scalar_operand_dtype(dtype), read once.
// Masks: 0 for all rows; 1 and 2 for two operands; 2, 4 and 6 for three. nullptr: no such loop, or dtype not supported.
// dtype is that of the operands (Select: of operands 1 and 2); float16 and bfloat16 compute in float32.
PointwiseLoop pointwise_loop(int pointwise_row, DType dtype, unsigned scalar_mask = 0);
bool pointwise_supports(int pointwise_row, DType dtype);
// The element type of scalar operands: float32 for float16 and bfloat16, else dtype. Fill it with store_scalar
// (fill.h).
DType scalar_operand_dtype(DType dtype);
DType pointwise_result_dtype(int pointwise_row, DType dtype);

// Raises RuntimeError "ZeroDivisionError" when one of the n integers is zero.
void check_divisor(const OpRow& op, DType dtype, const void* divisor, int64_t n);

// How an op's arguments become a pointwise call. Looks only at which arguments are None, at strings, and at Scalars
// where a
// number selects a cheaper row (alpha=1, exponent 2): pass an undefined Tensor for anything not known yet, also a
// run-time number.
struct PointwiseForm {
  int row = -1;           // of pointwise.def
  int operands[3] = {};   // argument indices
  int operand_count = 0;  // = the row's arity
  int param = -1;         // argument index of the row's parameter, -1: none
};
// op.pointwise >= 0. Throws Error(Runtime) for an unknown rounding_mode or approximate.
PointwiseForm pointwise_form(const OpRow& op, std::span<const Arg> args);

// Eager dispatch of the plainest call: same sizes, both contiguous, same dtype, one thread's worth of work.
// False: nothing was done, take run_op. out becomes a new tensor.
bool run_pointwise_fast(const OpRow& op, const Tensor& a, const Tensor& b, Tensor& out);
// The number is already known to leave the dtype of the tensor as it is (promotion says so).
bool run_pointwise_fast(const OpRow& op, const Tensor& a, const Scalar& b, Tensor& out);
bool run_pointwise_fast(const OpRow& op, const Scalar& a, const Tensor& b, Tensor& out);
bool run_pointwise_fast(const OpRow& op, const Tensor& a, Tensor& out);

}  // namespace md
