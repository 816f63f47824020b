// Where the program is: for records of breaks and recompiles.
#pragma once
#include <vector>

#include "bytecode/bytecode.h"
#include "graph/graph.h"

namespace md {

// Frames that run now, outermost first; without the frame being captured, and as many of its callers as the region left it for.
std::vector<SourceLine> running_stack(const Bytecode& without, size_t callers);

}  // namespace md
