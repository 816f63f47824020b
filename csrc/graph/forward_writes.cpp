// What a write has just put into a window and a view of that window reads is the value that was written; a write that
// replaces the window of the write before it replaces that write. Rewires only uses by ops, as the other passes.
#include "graph/passes.h"
#include "graph/sized_graph.h"
#include "graph/views.h"
#include "tensor/ops/kernels.h"

namespace md {
namespace {

bool is_window_write(const Node& node) {
  return node.kind == NodeKind::Op && node.op->kernel == scatter_view_kernel &&
         std::holds_alternative<ValueRef>(node.operands[1]);
}

ValueRef base_of(const Node& write) { return std::get<ValueRef>(write.operands[0]); }
const DimVec& sizes_of(const Node& write) { return std::get<DimVec>(write.operands[2]); }
const DimVec& strides_of(const Node& write) { return std::get<DimVec>(write.operands[3]); }

Dim offset_of(const Node& write) { return std::get<Scalar>(write.operands[4]).as_dim(); }

bool is_same_window(const Node& a, const Node& b) {
  return same(sizes_of(a), sizes_of(b)) && same(strides_of(a), strides_of(b)) && same(offset_of(a), offset_of(b)) &&
         same_layout(a.outs[0].spec, b.outs[0].spec);
}

struct View {
  const Node* write = nullptr;  // whose result it is a view of; null: none
  Dim offset = 0;
};

// Of a node whose operands are known.
View view_of(const Node& node, const std::vector<View>& known) {
  if (is_window_write(node)) return {&node, 0};
  if (!is_op(node, OpKind::View) || node.outs.size() != 1 || has_symbols(node)) return {};
  const auto* source = std::get_if<ValueRef>(&node.operands[0]);
  if (source == nullptr || known[static_cast<size_t>(source->node->index)].write == nullptr) return {};
  if (!is_strided_view(node)) return {};
  const View& from = known[static_cast<size_t>(source->node->index)];
  return {from.write, from.offset + view_outs(node)[0].view_offset};
}

// The value that the write has put where the view is.
ValueRef written_value(const Graph& graph, const Node& node, const View& view) {
  if (view.write == nullptr || view.write == &node) return {};
  const TensorSpec& spec = node.outs[0].spec;
  bool is_there = same(view.offset, offset_of(*view.write)) && same(spec.sizes, sizes_of(*view.write)) &&
                  same(spec.strides, strides_of(*view.write));
  if (!is_there) return {};
  ValueRef value = std::get<ValueRef>(view.write->operands[1]);
  const TensorSpec& written = graph.info(value).spec;
  bool is_same = written.dtype == spec.dtype && written.requires_grad == spec.requires_grad;
  return is_same && same_layout(written, spec) ? value : ValueRef{};
}

}  // namespace

bool forward_writes(Graph& graph) {
  std::vector<View> views(graph.nodes().size());
  std::vector<ValueRef> written(graph.nodes().size());
  bool changed = false;
  for (const auto& node : graph.nodes()) {
    bool may_rewire = node->kind == NodeKind::Op && !is_op(*node, OpKind::HostCall);
    for (Operand& operand : node->operands) {
      for_each_value(operand, [&](ValueRef& value) {
        ValueRef other = written[static_cast<size_t>(value.node->index)];
        if (other.node == nullptr || !may_rewire) return;
        value = other;
        changed = true;
      });
    }
    while (is_window_write(*node) && is_window_write(*base_of(*node).node) &&
           is_same_window(*node, *base_of(*node).node)) {
      node->operands[0] = base_of(*base_of(*node).node);
      changed = true;
    }
    size_t index = static_cast<size_t>(node->index);
    views[index] = view_of(*node, views);
    written[index] = written_value(graph, *node, views[index]);
  }
  return changed;
}

}  // namespace md
