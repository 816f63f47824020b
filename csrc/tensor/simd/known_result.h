// Comparisons whose result does not depend on their operands, as isinf of integers.
#pragma once
#include <cstdint>

#include "tensor/dtype.h"

namespace md {

enum class Truth : uint8_t { Depends, False, True };
Truth known_result(int pointwise_row, DType dtype);

}  // namespace md
