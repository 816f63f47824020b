// One value of one dtype, in memory.
#pragma once
#include <cstdint>

#include "tensor/dtype.h"
#include "tensor/scalar.h"

namespace md {

// Casts as the op `cast` does: floats to integers truncate, integers wrap, anything but zero is True.
void store_scalar(DType dtype, const Scalar& value, void* dst);
Scalar load_scalar(DType dtype, const void* src);
// Whether torch takes the number for an element: integers in the dtype's range, where negative ones count down from an unsigned
// dtype's end; floats that are not cut to infinity.
bool fits(DType dtype, const Scalar& value);
// n copies of the element at src.
void fill_elements(DType dtype, const void* src, void* dst, int64_t n);

}  // namespace md
