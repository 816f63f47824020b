// Inner loops of pointwise functions, from pointwise.def: one per (row, dtype) and instruction-set level.
#pragma once
#include <cstdint>
#include <span>

#include "tensor/simd/pointwise_table.h"

namespace md {

std::span<const PointwiseRow> pointwise_rows();  // the values of Pointwise

// Bit i of scalar_mask: operand i is a single element of dtype scalar_operand_dtype(dtype). Masks: 0 for all rows; 1
// and 2 for two operands; 2, 4 and 6 for three. nullptr: no such loop, or dtype not supported. dtype is that of the
// operands (Select: of operands 1 and 2); float16 and bfloat16 compute in float32.
PointwiseLoop pointwise_loop(int pointwise_row, DType dtype, unsigned scalar_mask = 0);
bool pointwise_supports(int pointwise_row, DType dtype);
// The element type of scalar operands: float32 for float16 and bfloat16, else dtype. Fill
// it with store_scalar (fill.h).
DType scalar_operand_dtype(DType dtype);
// Whether the bits of integer results do not depend on the sign (PointwiseTrait::Wraps).
bool ignores_sign(int pointwise_row);
DType pointwise_result_dtype(int pointwise_row, DType dtype);

}  // namespace md
