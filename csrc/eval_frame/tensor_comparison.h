// Compares two tensors: dtype, sizes, strides and flags exactly, elements up to the rounding of their dtype.
#pragma once
#include <string>

#include "tensor/tensor.h"

namespace md {

// Relative to the largest finite element; 0 for exact dtypes.
double tolerance_of(DType dtype);

// The first difference, "" if there is none: dtype, sizes, strides, requires_grad. Libraries are free in the strides
// that lead to no element, of dims of size 1 and of empty tensors; ours are compared.
enum class ComparedStrides { All, ThoseToElements };
std::string spec_difference(const Tensor& captured, const Tensor& python, ComparedStrides compared);
// The same for elements; the specs must be equal. Floats may differ by `tolerance` if that exceeds their dtype's.
std::string element_difference(const Tensor& captured, const Tensor& python, double tolerance = 0);

}  // namespace md
