// Classifies View nodes: a strided view of operand 0, or a copy if no strided view has the shape.
#pragma once
#include <vector>

#include "graph/graph.h"

namespace md {

// The shape rule's results for the node's operands: sizes, strides, and the offset of each result in operand 0.
std::vector<OutSpec> view_outs(const Node& node);
// All results alias operand 0.
bool is_strided_view(const Node& node);

}  // namespace md
