// Comparisons of sizes that hold without specialising the capture.
#pragma once
#include <optional>

#include "guards/scalar_ops.h"
#include "tensor/dim.h"

namespace md {

// The result if it is the same for all sizes; nullopt if it depends on them, or the computation is not a comparison.
std::optional<bool> compared_for_all(ScalarOp comparison, Dim a, Dim b);

}  // namespace md
