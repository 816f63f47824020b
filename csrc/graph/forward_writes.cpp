// A write that replaces the window of the write before it takes that one's place, and what has read the window in between
// reads the value that was written. Rewires only uses by ops, as the other passes.
#include <algorithm>

#include "graph/passes.h"
#include "graph/symbols.h"
#include "graph/views.h"

namespace md {
namespace {

bool is_window_write(const Node& node) {
  return node.kind == NodeKind::Op && writes_view(*node.op) && std::holds_alternative<ValueRef>(node.operands[1]);
}

ValueRef base_of(const Node& write) { return std::get<ValueRef>(write.operands[0]); }

bool is_same_window(const Node& a, const Node& b) {
  return same_view(written_view(a), written_view(b)) && same_layout(a.outs[0].spec, b.outs[0].spec);
}

struct View {
  const Node* write = nullptr;  // whose result it is a view of; null: none
  Dim offset = 0;
};

// Of a node whose operands are known.
View view_of(const Node& node, const std::vector<View>& known) {
  if (is_window_write(node)) return {&node, 0};
  if (!is_op(node, OpKind::View) || node.outs.size() != 1) return {};
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
  if (!same_view({spec.sizes, spec.strides, view.offset}, written_view(*view.write))) return {};
  ValueRef value = std::get<ValueRef>(view.write->operands[1]);
  const TensorSpec& written = graph.info(value).spec;
  bool is_same = written.dtype == spec.dtype && written.requires_grad == spec.requires_grad;
  return is_same && same_layout(written, spec) ? value : ValueRef{};
}

// What each write hands on: the next write replaces its window, and all else that reads its result reads the window.
class Forwarding {
 public:
  explicit Forwarding(const Graph& graph)
      : views_(graph.nodes().size()), written_(graph.nodes().size()), is_replaced_(graph.nodes().size()) {
    std::vector<bool> is_read(graph.nodes().size()), is_live = live_nodes(graph, graph.outputs());
    for (const auto& node : graph.nodes()) {
      size_t index = static_cast<size_t>(node->index);
      views_[index] = view_of(*node, views_);
      written_[index] = written_value(graph, *node, views_[index]);
      if (node->kind == NodeKind::Op && is_live[index]) note_reads(*node, is_read);
    }
    for (const ValueRef& output : graph.outputs()) note_read(output, is_read, true);
    for (size_t i = 0; i < is_read.size(); ++i) is_replaced_[i] = is_replaced_[i] && !is_read[i];
  }

  // The write is needed for nothing.
  bool is_replaced(const Node& node) const { return is_replaced_[static_cast<size_t>(node.index)]; }
  // What a value is read as; no node: as it is.
  ValueRef source_of(const ValueRef& value) const {
    size_t index = static_cast<size_t>(value.node->index);
    const Node* write = views_[index].write;
    return write != nullptr && is_replaced_[static_cast<size_t>(write->index)] ? written_[index] : ValueRef{};
  }

 private:
  void note_reads(const Node& node, std::vector<bool>& is_read) {
    bool is_view = views_[static_cast<size_t>(node.index)].write != nullptr && !is_window_write(node);
    for (size_t i = 0; i < node.operands.size(); ++i) {
      for_each_value(node.operands[i], [&](const ValueRef& value) {
        bool replaces =
            i == 0 && is_window_write(node) && is_window_write(*value.node) && is_same_window(node, *value.node);
        if (replaces) is_replaced_[static_cast<size_t>(value.node->index)] = true;
        if (!replaces && !is_view) note_read(value, is_read, !may_rewire(node, i));
      });
    }
  }
  void note_read(const ValueRef& value, std::vector<bool>& is_read, bool as_it_is) const {
    size_t index = static_cast<size_t>(value.node->index);
    const Node* write = views_[index].write;
    bool is_forwarded = !as_it_is && written_[index].node != nullptr;
    if (write != nullptr && !is_forwarded) is_read[static_cast<size_t>(write->index)] = true;
  }

  std::vector<View> views_;        // by node index
  std::vector<ValueRef> written_;  // by node index, of a view
  std::vector<bool> is_replaced_;  // by node index, of a write
};

bool has_window_writes(const Graph& graph) {
  return std::ranges::any_of(graph.nodes(), [](const auto& node) { return is_window_write(*node); });
}

}  // namespace

bool forward_writes(Graph& graph) {
  if (!has_window_writes(graph)) return false;
  DecidesByHint decides;  // as the capture of each view did, which guards hold
  Forwarding forwarding(graph);
  bool changed = false;
  for (const auto& node : graph.nodes()) {
    for (size_t i = 0; i < node->operands.size(); ++i) {
      for_each_value(node->operands[i], [&](ValueRef& value) {
        if (!may_rewire(*node, i)) return;
        // What was written may itself be the window of an earlier write.
        for (ValueRef source = forwarding.source_of(value); source.node != nullptr;
             source = forwarding.source_of(value)) {
          value = source;
          changed = true;
        }
      });
    }
    while (is_window_write(*node) && forwarding.is_replaced(*base_of(*node).node) &&
           is_same_window(*node, *base_of(*node).node)) {
      node->operands[0] = base_of(*base_of(*node).node);
      changed = true;
    }
  }
  return changed;
}

}  // namespace md
