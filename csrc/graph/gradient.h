// Which values of a graph require a gradient.
#pragma once
#include <span>

#include "graph/graph.h"

namespace md {

bool any_requires_grad(std::span<const Operand> operands);

}  // namespace md
