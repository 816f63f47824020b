// Where the program is: for records of breaks and recompiles.
#pragma once
#include <vector>

#include "bytecode/bytecode.h"
#include "graph/graph.h"

namespace md {

// Frames that run now, outermost first; without the frame being captured, and as many of its callers as the region left it for.
std::vector<SourceLine> running_stack(const Bytecode& without, size_t callers);

// The text of a name or path of a code object; "?" for what is no UTF-8.
std::string text_of(PyObject* name);

}  // namespace md
