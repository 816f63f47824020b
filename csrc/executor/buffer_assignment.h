// Numbers the values of a graph and assigns each to a buffer. Views are aliases; they need no step.
#pragma once
#include <span>
#include <vector>

#include "executor/run_state.h"
#include "graph/appends.h"

namespace md {

class BufferAssignment {
 public:
  // The graph's specs must be concrete, else throws Error(Internal). escapes: by node index, whether its result or a
  // view of it leaves the plan.
  BufferAssignment(const Graph& graph, const std::vector<bool>& escapes, std::span<const Append> appends);

  int number(ValueRef value) const { return first_[static_cast<size_t>(value.node->index)] + value.out; }
  const Place& place(ValueRef value) const { return layout_.places[static_cast<size_t>(number(value))]; }
  const Buffer& buffer(ValueRef value) const { return layout_.buffers[static_cast<size_t>(place(value).buffer)]; }
  // Position of an input node among the graph's inputs.
  int input_position(const Node& node) const { return input_position_[static_cast<size_t>(node.index)]; }
  // Whether the node is a pure alias (no step emitted).
  bool is_alias(const Node& node) const { return is_alias_[static_cast<size_t>(node.index)]; }

  Layout& layout() { return layout_; }
  const Layout& layout() const { return layout_; }

 private:
  void place_node(const Node& node, BufferHome home);
  bool place_views(const Node& node);
  void add_buffer(const Node& node, int out, BufferHome home, int index);

  Layout layout_;
  std::vector<int> first_;  // by node index
  std::vector<bool> is_alias_;
  std::vector<int> input_position_;  // by node index, -1: not an input
};

// Bytes from the lowest element to the end of the highest one; raises on overflow.
int64_t span_nbytes(const TensorSpec& spec);
// Elements of memory before the first one.
int64_t lead_of(const TensorSpec& spec);

}  // namespace md
