// What a View node is: a window on its operand 0, or a copy where no window has the shape.
#pragma once
#include <vector>

#include "graph/graph.h"

namespace md {

// The shape rule's answer for the node's operands: sizes, strides, and where each result starts in operand 0.
std::vector<OutSpec> view_outs(const Node& node);
// All results alias operand 0.
bool is_window(const Node& node);

}  // namespace md
