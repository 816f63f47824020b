// Which values of a graph require a gradient.
#pragma once
#include <span>

#include "graph/graph.h"

namespace md {

bool any_requires_grad(std::span<const Operand> operands);
// Says of a graph without writes which inputs require grad, and marks what follows from them.
void mark_requires_grad(Graph& graph, std::span<const bool> inputs);

}  // namespace md
