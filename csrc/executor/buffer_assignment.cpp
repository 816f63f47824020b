#include "executor/buffer_assignment.h"

#include <algorithm>

#include "graph/views.h"

namespace md {
namespace {

void check_concrete(const Node& node) {
  for (const ValueInfo& info : node.outs) {
    if (!info.is_scalar && !has_fixed_layout(info.spec)) {
      raise(ErrorKind::Internal, "lower: %", node.name, " has symbolic sizes ", info.spec.str());
    }
  }
}

BufferHome home_of_result(const Node& node, bool escapes, std::span<const Append> appends) {
  bool is_append = std::ranges::find(appends, &node, &Append::node) != appends.end();
  if (is_append || (node.kind == NodeKind::Op && node.op->host_call.run != nullptr)) return BufferHome::Made;
  return escapes ? BufferHome::Output : BufferHome::Arena;
}

}  // namespace

int64_t span_nbytes(const TensorSpec& spec) {
  return (Dim(reach_of(spec).count()) * Dim(static_cast<int64_t>(item_size(spec.dtype)))).value();
}

int64_t lead_of(const TensorSpec& spec) { return -reach_of(spec).low; }

BufferAssignment::BufferAssignment(const Graph& graph, const std::vector<bool>& escapes,
                                   std::span<const Append> appends) {
  is_alias_.resize(graph.nodes().size(), false);
  input_position_.resize(graph.nodes().size(), -1);
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    input_position_[static_cast<size_t>(graph.inputs()[i]->index)] = static_cast<int>(i);
  }
  for (const auto& node : graph.nodes()) {
    check_concrete(*node);
    first_.push_back(static_cast<int>(layout_.places.size()));
    place_node(*node, home_of_result(*node, escapes[static_cast<size_t>(node->index)], appends));
  }
}

void BufferAssignment::add_buffer(const Node& node, int out, BufferHome home, int index) {
  const TensorSpec& spec = node.outs[static_cast<size_t>(out)].spec;
  Buffer buffer;
  buffer.home = home;
  buffer.index = index;
  buffer.root = static_cast<int>(layout_.places.size());
  buffer.nbytes = span_nbytes(spec);
  buffer.lead = lead_of(spec);
  layout_.places.push_back({.buffer = static_cast<int>(layout_.buffers.size()), .offset = 0, .spec = spec});
  layout_.buffers.push_back(buffer);
}

void BufferAssignment::place_node(const Node& node, BufferHome home) {
  switch (node.kind) {
    case NodeKind::TensorInput:
      return add_buffer(node, 0, BufferHome::Input, input_position(node));
    case NodeKind::ScalarInput:
      layout_.places.push_back({});
      return;
    case NodeKind::TensorConst:
      layout_.constants.push_back(node.constant);
      return add_buffer(node, 0, BufferHome::Constant, static_cast<int>(layout_.constants.size()) - 1);
    case NodeKind::Op:
      break;
  }
  if (node.op->kind == OpKind::View && place_views(node)) return;
  for (size_t i = 0; i < node.outs.size(); ++i) add_buffer(node, static_cast<int>(i), home, -1);
}

// The graph stores the spec of a view; its shape rule returns the offset, and whether it must copy: then returns false.
bool BufferAssignment::place_views(const Node& node) {
  std::vector<OutSpec> outs = view_outs(node);
  if (std::any_of(outs.begin(), outs.end(), [](const OutSpec& out) { return out.copies; })) return false;
  Place base = place(std::get<ValueRef>(node.operands[0]));
  MD_ASSERT(outs.size() == node.outs.size(), "the shape rule returns as many results as at capture");
  for (size_t i = 0; i < outs.size(); ++i) {
    const TensorSpec& spec = node.outs[i].spec;
    int64_t start = offset_in(spec.dtype, base.offset, base.spec.dtype);
    layout_.places.push_back({.buffer = base.buffer, .offset = start + outs[i].view_offset.value(), .spec = spec});
  }
  is_alias_[static_cast<size_t>(node.index)] = true;
  return true;
}

}  // namespace md
