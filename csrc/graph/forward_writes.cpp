// A read from a window reads the value that was written there, or, past writes elsewhere, what the memory held before
// them. A write that replaces the window, or all elements, of the write before it takes that one's place. Rewires only
// uses by ops, as the other passes.
#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "graph/passes.h"
#include "graph/symbols.h"
#include "graph/views.h"
#include "tensor/memory_overlap.h"

namespace md {
namespace {

constexpr int kMostPassed = 64;  // writes elsewhere that a read is looked for behind

bool is_window_write(const Node& node) {
  return node.kind == NodeKind::Op && writes_view(*node.op) && std::holds_alternative<ValueRef>(node.operands[1]);
}

ValueRef base_of(const Node& write) { return std::get<ValueRef>(write.operands[0]); }

// Windows are places in the memory of both.
bool lies_as_base(const Graph& graph, const Node& write) {
  return same_layout(graph.info(base_of(write)).spec, write.outs[0].spec);
}

// What the memory of a write's result held before all writes to windows of it; no node: not known.
ValueRef first_base_of(const Graph& graph, const Node& write) {
  ValueRef base = {};
  for (const Node* last = &write; is_window_write(*last) && lies_as_base(graph, *last); last = base.node)
    base = base_of(*last);
  return base;
}

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
  if (!is_strided_view(node) ||
      node.outs[0].spec.dtype != source->node->outs[static_cast<size_t>(source->out)].spec.dtype)
    return {};
  const View& from = known[static_cast<size_t>(source->node->index)];
  return {from.write, from.offset + view_outs(node)[0].view_offset};
}

// Where a view of a write's result finds its elements.
struct Found {
  ValueRef written = {};  // the value that a write has put there
  ValueRef base = {};     // else: what it can be a view of in place of the write's result; no node: nothing else
};

Found find_elements(const Graph& graph, const Node& node, const View& view) {
  if (view.write == nullptr || view.write == &node) return {};
  const TensorSpec& spec = node.outs[0].spec;
  StridedView read = {spec.sizes, spec.strides, view.offset};
  const Node* write = view.write;
  for (int passed = 0; passed < kMostPassed; ++passed) {
    StridedView window = written_view(*write);
    if (same_view(read, window)) {
      ValueRef value = std::get<ValueRef>(write->operands[1]);
      const TensorSpec& written = graph.info(value).spec;
      bool is_same = !graph.info(value).is_scalar && written.dtype == spec.dtype &&
                     written.requires_grad == spec.requires_grad && same(written.sizes, spec.sizes);
      if (is_same) return {.written = value};
    }
    bool is_elsewhere = !may_meet(layout_of(read), layout_of(window), read.offset - window.offset);
    if (!is_elsewhere || !lies_as_base(graph, *write)) break;
    ValueRef base = base_of(*write);
    if (!is_window_write(*base.node)) return {.base = base};
    write = base.node;
  }
  if (write == view.write) return {};
  return {.base = {const_cast<Node*>(write), 0}};
}

// What each write hands on: the next write replaces its window, and all else that reads its result reads the window.
class Forwarding {
 public:
  explicit Forwarding(const Graph& graph)
      : graph_(graph), views_(graph.nodes().size()), found_(graph.nodes().size()), is_replaced_(graph.nodes().size()) {
    std::vector<bool> is_read(graph.nodes().size()), is_live = live_nodes(graph, graph.outputs());
    for (const auto& node : graph.nodes()) {
      size_t index = static_cast<size_t>(node->index);
      views_[index] = view_of(*node, views_);
      found_[index] = find_elements(graph, *node, views_[index]);
      if (node->kind == NodeKind::Op && is_live[index]) note_reads(*node, is_read);
    }
    for (const ValueRef& output : graph.outputs()) note_read(output, is_read, true);
    for (size_t i = 0; i < is_read.size(); ++i) is_replaced_[i] = is_replaced_[i] && !is_read[i];
  }

  // The write is needed for nothing.
  bool is_replaced(const Node& node) const { return is_replaced_[static_cast<size_t>(node.index)]; }
  const Found& found(const ValueRef& value) const { return found_[static_cast<size_t>(value.node->index)]; }
  // The write of whose result it is a view.
  const Node* write_of(const ValueRef& value) const { return views_[static_cast<size_t>(value.node->index)].write; }
  bool is_view(const Node& node) const {
    return views_[static_cast<size_t>(node.index)].write != nullptr && !is_window_write(node);
  }
  // Whether the operand is a view that a copy replaces: of its elements none is read.
  bool gives_layout(const Node& node, size_t operand) const {
    const auto* value = operand == 0 && is_op(node, OpRole::Copy) ? std::get_if<ValueRef>(&node.operands[0]) : nullptr;
    return value != nullptr && is_view(*value->node) && first_base_of(graph_, *write_of(*value)).node != nullptr;
  }

 private:
  void note_reads(const Node& node, std::vector<bool>& is_read) {
    for (size_t i = 0; i < node.operands.size(); ++i) {
      for_each_value(node.operands[i], [&](const ValueRef& value) {
        bool replaces =
            i == 0 && is_window_write(node) && is_window_write(*value.node) && is_same_window(node, *value.node);
        if (replaces) is_replaced_[static_cast<size_t>(value.node->index)] = true;
        if (!replaces && !is_view(node) && !gives_layout(node, i)) note_read(value, is_read, !may_rewire(node, i));
      });
    }
  }
  void note_read(const ValueRef& value, std::vector<bool>& is_read, bool as_it_is) const {
    size_t index = static_cast<size_t>(value.node->index);
    const Node* write = views_[index].write;
    if (write == nullptr) return;
    const Found& found = found_[index];
    if (!as_it_is && found.written.node != nullptr) return;
    if (!as_it_is && found.base.node != nullptr) write = views_[static_cast<size_t>(found.base.node->index)].write;
    if (write != nullptr) is_read[static_cast<size_t>(write->index)] = true;
  }

  const Graph& graph_;
  std::vector<View> views_;        // by node index
  std::vector<Found> found_;       // by node index, of a view
  std::vector<bool> is_replaced_;  // by node index, of a write
};

bool has_window_writes(const Graph& graph) {
  return std::ranges::any_of(graph.nodes(), [](const auto& node) { return is_window_write(*node); });
}

// Has the operand read another value; false, with nothing changed: the node's results would lie otherwise.
bool rewire(const Graph& graph, Node& node, ValueRef& operand, ValueRef value) {
  ValueRef old = std::exchange(operand, value);
  if (same_layout(graph.info(old).spec, graph.info(value).spec)) return true;
  bool is_alike = true;
  try {
    is_alike =
        std::ranges::equal(infer_outs(*node.op, node.operands), node.outs, [](const ValueInfo& a, const ValueInfo& b) {
          return a.spec.dtype == b.spec.dtype && a.copies == b.copies && same_layout(a.spec, b.spec);
        });
  } catch (const Error&) {
    is_alike = false;  // a view that these strides do not have
  }
  if (!is_alike) operand = old;
  return is_alike;
}

// Views of writes' results that become views of what the memory held before.
class BaseChanges {
 public:
  explicit BaseChanges(Graph& graph) : graph_(graph) {}

  void add(Node& node, ValueRef& operand, ValueRef base, const Node& write) {
    changes_.push_back({&node, &operand, base, &write});
  }
  void run() {
    for (const Change& each : changes_) *each.operand = view_of(*each.operand, each);
  }
  bool empty() const { return changes_.empty(); }

 private:
  struct Change {
    Node* node;
    ValueRef* operand;
    ValueRef base;
    const Node* write;
  };
  // The same view, of the base; made before its first reader.
  ValueRef view_of(ValueRef value, const Change& change) {
    if (value.node == change.write) return change.base;
    auto [known, is_new] = made_.try_emplace({value.node, change.base.node}, nullptr);
    if (is_new) {
      std::vector<Operand> operands = value.node->operands;
      operands[0] = view_of(std::get<ValueRef>(operands[0]), change);
      made_[{value.node, change.base.node}] =
          graph_.insert_op(*change.node, *value.node->op, std::move(operands), value.node->location);
    }
    return {made_[{value.node, change.base.node}], value.out};
  }

  Graph& graph_;
  std::vector<Change> changes_;
  std::map<std::pair<const Node*, const Node*>, Node*> made_;
};

std::vector<int> uses_of(const Graph& graph) {
  std::vector<int> uses(graph.nodes().size());
  auto note = [&](const ValueRef& value) { ++uses[static_cast<size_t>(value.node->index)]; };
  for (const auto& node : graph.nodes())
    for (const Operand& operand : node->operands) for_each_value(operand, note);
  for (const ValueRef& output : graph.outputs()) note(output);
  return uses;
}

// A write whose result only says how the copy that replaces it lies. (A gradient of zeros is not one of None.)
bool is_only_replaced(const Graph& graph, const ValueRef& value, const std::vector<int>& uses) {
  const Node& write = *value.node;
  if (!is_op(write, OpKind::Write) || write.outs.size() != 1 || must_run(write)) return false;
  const auto* before = std::get_if<ValueRef>(&write.operands[0]);
  return before != nullptr && uses[static_cast<size_t>(write.index)] == 1 && !write.outs[0].spec.requires_grad &&
         same_layout(graph.info(*before).spec, write.outs[0].spec);
}

bool drop_replaced_writes(Graph& graph) {
  std::vector<int> uses = uses_of(graph);
  bool changed = false;
  for (const auto& node : graph.nodes()) {
    auto* self = is_op(*node, OpRole::Copy) ? std::get_if<ValueRef>(&node->operands[0]) : nullptr;
    if (self == nullptr || !is_only_replaced(graph, *self, uses)) continue;
    *self = base_of(*self->node);
    changed = true;
  }
  return changed;
}

}  // namespace

bool forward_writes(Graph& graph) {
  DecidesByHint decides;  // as the capture of each view did, which guards hold
  bool dropped = drop_replaced_writes(graph);
  if (!has_window_writes(graph)) return dropped;
  Forwarding forwarding(graph);
  BaseChanges bases(graph);
  bool changed = false;
  for (const auto& node : graph.nodes()) {
    for (size_t i = 0; i < node->operands.size() && !forwarding.is_view(*node); ++i) {
      for_each_value(node->operands[i], [&](ValueRef& value) {
        if (forwarding.gives_layout(*node, i)) {
          const Node& write = *forwarding.write_of(value);
          bases.add(*node, value, first_base_of(graph, write), write);
        }
        if (!may_rewire(*node, i)) return;
        // What was written may itself be the window of an earlier write.
        const Found* found = &forwarding.found(value);
        while (found->written.node != nullptr && rewire(graph, *node, value, found->written)) {
          changed = true;
          found = &forwarding.found(value);
        }
        if (found->base.node != nullptr) bases.add(*node, value, found->base, *forwarding.write_of(value));
      });
    }
    while (is_window_write(*node) && forwarding.is_replaced(*base_of(*node).node) &&
           is_same_window(*node, *base_of(*node).node)) {
      node->operands[0] = base_of(*base_of(*node).node);
      changed = true;
    }
  }
  changed = changed || !bases.empty();
  bases.run();
  return changed || dropped;
}

}  // namespace md
