// Classifies View nodes: a strided view of operand 0, or a copy if no strided view has the shape.
#pragma once
#include <vector>

#include "graph/graph.h"

namespace md {

// The shape rule's results for the node's operands: sizes, strides, and the offset of each result in operand 0.
std::vector<OutSpec> view_outs(const Node& node);
// All results alias operand 0.
bool is_strided_view(const Node& node);
// What the value is a strided view of; no node: it is none.
ValueRef viewed_by(ValueRef value);

// Elements of a tensor by strides, from an offset on.
struct StridedView {
  DimVec sizes, strides;
  Dim offset = 0;
};
bool same_view(const StridedView& a, const StridedView& b);
// Its sizes and strides, in a spec of any dtype.
TensorSpec layout_of(const StridedView& view);

// Whether the row writes a window of its first operand: scatter_view.
bool writes_view(const OpRow& op);
// The window that a node of such a row writes.
StridedView written_view(const Node& write);

}  // namespace md
