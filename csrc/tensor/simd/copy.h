// Copies between layouts and dtypes.
#pragma once
#include "tensor/tensor.h"

namespace md {

// Same sizes and any layouts, or the same number of elements and dst contiguous (row-major order). Converts.
void copy_elements(const Tensor& src, const Tensor& dst);
// The tensor itself when it is already so.
Tensor as_contiguous(const Tensor& tensor, DType dtype);

// A view of the positions [start, start + length) of a dim.
Tensor part_of(const Tensor& tensor, int dim, int64_t start, int64_t length);

}  // namespace md
