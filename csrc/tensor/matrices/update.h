// c -= a @ b of blocks of matrices.
#pragma once
#include "tensor/matrices/block.h"

namespace md {

// Of float, double and complex numbers. One stride of c is 1. Sums run in order of the columns of a; the method follows
// from the sizes and strides alone.
template <typename T>
void subtract_product(const Block<T>& c, const Block<const T>& a, const Block<const T>& b);

}  // namespace md
