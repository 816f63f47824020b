// softmax of rows that lie one after another.
#pragma once
#include "tensor/dtype.h"

namespace md {

// In place; a half type is computed in float32 and rounded once.
void softmax_rows(DType dtype, void* values, int64_t rows, int64_t n);

}  // namespace md
