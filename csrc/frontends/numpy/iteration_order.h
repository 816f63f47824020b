// In which order NumPy's iterators, and so new results in order "K", have the axes.
#pragma once
#include <span>

#include "tensor/tensor.h"

namespace md::numpy {

// Of a result without gaps. The axis with the larger strides is outside; where operands disagree, C's order holds
// (nditer's npyiter_sort_axes). Of symbolic sizes and strides the relations that decide are recorded as guards.
DimVec result_strides(const DimVec& sizes, std::span<const TensorSpec* const> operands);

}  // namespace md::numpy
