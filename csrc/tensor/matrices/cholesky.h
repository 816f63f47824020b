// Cholesky decompositions by blocks of columns.
#pragma once
#include "tensor/matrices/block.h"

namespace md {

// a = l @ l^H in place of the lower triangle of a, whose columns are contiguous; the upper one is not read, and holds
// anything then. Returns the order of the first leading minor that is not positive, or 0. Of float, double and complex
// numbers.
template <typename T>
int64_t factor_cholesky(const Block<T>& a);

}  // namespace md
