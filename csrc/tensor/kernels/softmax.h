// softmax of contiguous rows.
#pragma once
#include "tensor/dtype.h"

namespace md {

// In place; half types are computed in float32 and rounded once.
void softmax_rows(DType dtype, void* values, int64_t rows, int64_t n);

}  // namespace md
