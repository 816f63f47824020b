// Copies between layouts and dtypes.
#pragma once
#include "tensor/tensor.h"

namespace md {

// For equal sizes in any layouts, or for the same number of elements if dst is contiguous (row-major order). Converts.
void copy_elements(const Tensor& src, const Tensor& dst);
// Returns the tensor itself if it already is contiguous with this dtype.
Tensor as_contiguous(const Tensor& tensor, DType dtype);

// A view of the positions [start, start + length) of a dim.
Tensor part_of(const Tensor& tensor, int dim, int64_t start, int64_t length);

}  // namespace md
