// Copies between layouts and dtypes.
#pragma once
#include "tensor/tensor.h"

namespace md {

// Same sizes and any layouts, or the same number of elements and dst contiguous (row-major order). Converts.
void copy_elements(const Tensor& src, const Tensor& dst);
// The tensor itself when it is already so.
Tensor as_contiguous(const Tensor& tensor, DType dtype);

}  // namespace md
