// The program's current position, for records of breaks and recompiles.
#pragma once
#include <vector>

#include "bytecode/bytecode.h"
#include "graph/graph.h"

namespace md {

// The running frames, outermost first, without the frame being captured and `callers` of its callers.
std::vector<SourceLine> running_stack(const Bytecode& without, size_t callers);

}  // namespace md
