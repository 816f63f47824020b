// Running sums and products along a dim that is not the last one.
#pragma once
#include "tensor/simd/pointwise.h"
#include "tensor/tensor.h"

namespace md {

// Computes columns that are next to each other together: a row from the one before it, floats in double and integers in
// 64 bits. False, and nothing done, where they are not or are few. out has self's sizes and is contiguous.
bool scan_columns(const Tensor& self, const Tensor& out, int dim, Pointwise function, int64_t neutral);

// The same of lines in any layout, for which ColumnBlocks::pay().
void scan_blocks(const Tensor& self, const Tensor& out, int dim, Pointwise function, int64_t neutral);

}  // namespace md
