// Whether two tensors are the same: dtype, sizes, strides and flags exactly, elements up to the rounding of their dtype.
#pragma once
#include <string>

#include "tensor/tensor.h"

namespace md {

// Relative to the largest finite element; 0 for what is exact.
double tolerance_of(DType dtype);

// What differs, "" if nothing does: dtype, sizes, strides, requires_grad.
std::string spec_difference(const Tensor& captured, const Tensor& python);
// The same of elements; the specs are equal. Floats may differ by `tolerance` where that is more than their dtype's.
std::string element_difference(const Tensor& captured, const Tensor& python, double tolerance = 0);

}  // namespace md
