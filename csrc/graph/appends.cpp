#include "graph/appends.h"

#include <algorithm>
#include <utility>

#include "graph/symbols.h"
#include "tensor/ops/kernels.h"
#include "tensor/simd/room.h"

namespace md {
namespace {

class AppendFinder {
 public:
  explicit AppendFinder(const Graph& graph) : graph_(graph), users_(graph.all_users()), escapes_(graph.escaping()) {}

  std::vector<Append> find() const {
    std::vector<Append> found;
    for (const auto& node : graph_.nodes()) {
      Append append = {.node = node.get()};
      if (node->kind == NodeKind::Op && node->op->kernel == cat_kernel && is_append(append)) found.push_back(append);
    }
    return found;
  }

 private:
  const std::vector<Node*>& users(const Node& node) const { return users_[static_cast<size_t>(node.index)]; }
  bool is_output(const Node& node) const {
    return std::ranges::any_of(graph_.outputs(), [&](const ValueRef& value) { return value.node == &node; });
  }

  bool is_append(Append& append) const {
    const Node& node = *append.node;
    const auto* parts = std::get_if<std::vector<ValueRef>>(&node.operands[0]);
    const auto* dim = std::get_if<Scalar>(&node.operands[1]);
    if (parts == nullptr || parts->empty() || dim == nullptr || dim->is_symbolic()) return false;
    append.input = (*parts)[0].node;
    const TensorSpec &first = append.input->outs[0].spec, &result = node.outs[0].spec;
    append.dim = static_cast<int>(dim->as_int() < 0 ? dim->as_int() + result.rank() : dim->as_int());
    bool is_first_only = std::ranges::count(*parts, (*parts)[0]) == 1 && users(*append.input).size() == 1;
    return append.input->kind == NodeKind::TensorInput && is_first_only && !is_output(*append.input) &&
           first.rank() == result.rank() && first.dtype == result.dtype && is_output(node) && is_kept_inside(node);
  }

  // Whether its readers neither write it nor pass it, or a view of it, to the outside.
  bool is_kept_inside(const Node& node) const {
    return std::ranges::all_of(users(node), [&](const Node* user) {
      if (is_op(*user, OpKind::HostCall)) return false;
      const auto* first = std::get_if<ValueRef>(&user->operands[0]);
      if (first == nullptr || first->node != &node) return true;
      if (is_op(*user, OpKind::Write)) return false;
      return !is_op(*user, OpKind::View) || (!escapes_[static_cast<size_t>(user->index)] && is_kept_inside(*user));
    });
  }

  const Graph& graph_;
  std::vector<std::vector<Node*>> users_;
  std::vector<bool> escapes_;
};

bool is_same_result(const ValueInfo& a, const ValueInfo& b) {
  return same_layout(a.spec, b.spec) && a.copies == b.copies;
}

// Gives the views of `node` the strides that follow from its own. False if another node's result would change, or a
// view would have to copy.
bool put_strides(Graph& graph, const Node& node) {
  for (Node* user : graph.users(&node)) {
    std::vector<ValueInfo> now = infer_outs(*user->op, user->operands);
    if (now.size() != user->outs.size()) return false;
    bool is_view = is_op(*user, OpKind::View);
    for (size_t i = 0; i < now.size(); ++i) {
      if (is_view ? now[i].copies != user->outs[i].copies || !same(now[i].spec.sizes, user->outs[i].spec.sizes)
                  : !is_same_result(now[i], user->outs[i]))
        return false;
      if (is_view) user->outs[i].spec.strides = now[i].spec.strides;
    }
    if (is_view && !put_strides(graph, *user)) return false;
  }
  return true;
}

Dim first_symbol(const TensorSpec& spec) {
  for (Dim size : spec.sizes)
    if (size.is_symbolic()) return size;
  return 0;
}

}  // namespace

bool Append::is_spread() const {
  const DimVec& sizes = node->outs[0].spec.sizes;
  return !std::all_of(sizes.begin(), sizes.begin() + dim, [](Dim size) { return same(size, Dim(1)); });
}

std::vector<Append> find_appends(const Graph& graph) { return AppendFinder(graph).find(); }

int64_t capacity_of(const Append& append, const TensorSpec& spec) {
  int64_t extent = spec.sizes[append.dim].value();
  if (!append.is_spread() || spec.numel().value() == 0) return extent;
  return spec.strides[append.dim - 1].value() / spec.strides[append.dim].value();
}

GraphWithRoom with_room(const std::shared_ptr<const Graph>& graph) {
  GraphWithRoom made = {.graph = graph, .capacities = {}};
  std::shared_ptr<Graph> copy;
  DecidesByHint scope;
  for (const Append& append : find_appends(*graph)) {
    const TensorSpec& spec = append.node->outs[0].spec;
    Dim total = spec.sizes[append.dim], beside = first_symbol(spec);
    bool fits = append.is_spread() && total.is_symbolic() && beside.is_symbolic() &&
                same(spec.strides, contiguous_strides(spec.sizes.span()));
    if (!fits) continue;
    copy = made.graph->clone();
    Node& node = *copy->nodes()[static_cast<size_t>(append.node->index)];
    // Another number than the extent, so that the shape rules see strides with gaps.
    Dim capacity = Dim::symbol_beside(beside, "room_of_" + node.name, 2 * total.hint() + 1);
    node.outs[0].spec = spec_in_room(spec, append.dim, capacity);
    try {
      if (!put_strides(*copy, node)) continue;
    } catch (const Error&) {
      continue;  // no view of these strides
    }
    const auto& inputs = graph->inputs();
    int input = static_cast<int>(std::ranges::find(inputs, append.input) - inputs.begin());
    made.capacities.push_back({capacity, total, input, append.dim});
    made.graph = std::move(copy);
  }
  return made;
}

}  // namespace md
