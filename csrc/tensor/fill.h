// Stores elements of a dtype.
#pragma once
#include <cstdint>

#include "tensor/dtype.h"
#include "tensor/scalar.h"

namespace md {

// Converts like the op `cast`: floats to integers truncate, integers wrap, anything but zero is True.
void store_scalar(DType dtype, const Scalar& value, void* dst);
Scalar load_scalar(DType dtype, const void* src);
// Whether torch accepts the number as an element: integers in the dtype's range, where negative ones count down from
// the end of an unsigned dtype's range; floats that do not overflow to infinity.
bool fits(DType dtype, const Scalar& value);

}  // namespace md
