// The writes of a graph to its inputs: from the graph's functional form back to what the program writes, where.
#pragma once
#include <span>
#include <vector>

#include "executor/buffer_assignment.h"
#include "graph/graph.h"
#include "graph/input_write.h"
#include "graph/sized_graph.h"
#include "graph/views.h"

namespace md {

// Whether a write replaces all elements of argument 0, without reading them.
bool replaces_all(const OpRow& op);
// Whether elements of a write's result are computed from those of argument 0. Else each is one of these or what is
// written.
bool combines(const Node& write);
// Whether the kernel takes no memory that is worth mentioning beside its operands.
bool is_steady(const OpRow& op);
// Whether its kernel writes a result of any layout.
bool writes_any_layout(const OpRow& op);
// Whether its kernel may keep a packed copy of an operand, which belongs to a version of the operand's storage.
bool may_pack(const OpRow& op);

// Calls f(value, operand) for the tensors that the node's kernel reads.
template <typename F>
void for_each_read(const Node& node, const BufferAssignment& places, F&& f) {
  if (node.kind != NodeKind::Op || places.is_alias(node)) return;
  for (size_t i = replaces_all(*node.op) ? 1 : 0; i < node.operands.size(); ++i) {
    for_each_value(node.operands[i], [&](const ValueRef& value) {
      if (!value.node->outs[static_cast<size_t>(value.out)].is_scalar) f(places.number(value), i);
    });
  }
}

// The node is a write into the result of another node, not into a view of one.
const ValueRef* written_operand(const Node& node, const BufferAssignment& places);

// Writes in program order that lead from an input, or from the result of another op, to what the input holds at the
// end.
struct WriteChain {
  int output = -1;
  int input = -1;
  const Node* input_node = nullptr;
  const Node* produced = nullptr;  // the op; null: the chain starts with the input itself
  std::vector<const Node*> updates = {};
  // The nodes that hold what the input held at first, or parts of it: the input, and writes into windows or elements of
  // such a node, in the chain or replaced as a whole by a later write.
  std::vector<const Node*> holders = {};
  bool may_be_in_place = false;  // only the chain and its readers need its values
};

// The writes that a plan can make itself: no two indices of the input share an element, and the output is a value of
// the graph's own in the input's layout, which does not change. None if some output is a view of another input. sized:
// null if the sizes stay.
std::vector<InputWrite> usable_writes(const Graph& graph, std::span<const InputWrite> writes, const SizedGraph* sized);
// Whether the sizes and strides of the node's result stay.
bool keeps_layout(const Node& node, const SizedGraph* sized);
std::vector<WriteChain> write_chains(const Graph& graph, const BufferAssignment& places,
                                     std::span<const InputWrite> writes, const std::vector<bool>& escapes);
// By node index: Graph::escaping(), but for outputs that are only written to inputs.
std::vector<bool> escaping_besides(const Graph& graph, std::span<const InputWrite> writes);

}  // namespace md
