// Comparisons of sizes that no capture has to be made for.
#pragma once
#include <optional>

#include "snapshot/scalar_ops.h"
#include "tensor/dim.h"

namespace md {

// What comes out whatever the sizes are; no answer: that depends on them, or it is no comparison.
std::optional<bool> compared_for_all(ScalarOp comparison, Dim a, Dim b);

}  // namespace md
