// What of an op's operands and results is fixed before the graph runs: then its result may be computed once.
#pragma once
#include "graph/graph.h"

namespace md {

// Whether its sizes and numbers are fixed; tensors and lists of them always are: their nodes tell.
bool is_fixed_operand(const Operand& operand);

// Whether its sizes are fixed, and its elements few enough to be kept with the graph.
bool is_fixed_and_small(const ValueInfo& info);

}  // namespace md
