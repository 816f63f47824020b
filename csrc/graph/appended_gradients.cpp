#include "graph/appended_gradients.h"

#include <algorithm>

#include "base/error.h"
#include "graph/gradient_walk.h"

namespace md {
namespace {

class GradientAppender : public GradientWalk {
 public:
  GradientAppender(Graph& graph, std::span<const ValueRef> stops, GradientHistory history, const AppendOp& append)
      : GradientWalk(graph), graph_(graph), stops_(stops), history_(history), append_(append) {}

  AppendedGradients run(std::span<const GradientStart> starts, std::optional<std::span<const ValueRef>> ends) {
    const size_t count = graph_.nodes().size();
    std::vector<bool> leads = ends ? leading_to(*ends, count) : std::vector<bool>(count, true);
    for (const GradientStart& start : starts)
      arrive(start.value, standing_for_built(start.gradient, graph_.info(start.gradient).spec));
    for (size_t i = count; i-- > 0;)
      if (leads[i]) apply(*graph_.nodes()[i]);
    for (const auto& [value, gradient] : gradients()) result_.reached.push_back(value);
    if (ends) {
      for (const ValueRef& end : *ends) result_.ends.push_back(gradient_of(end));
    } else {
      find_leaves();
    }
    return std::move(result_);
  }

 private:
  Node* append(const OpRow& row, std::vector<Operand> operands) override { return append_(row, std::move(operands)); }
  Node* append_constant(const Tensor& value) override { return graph_.add_constant("constant", value); }
  ValueRef in_graph(ValueRef value) override { return value; }
  bool records_histories() const override { return history_ == GradientHistory::Recorded; }
  void note_saved(const Node& node, ValueRef value) override {
    if (result_.saving.empty() || result_.saving.back() != &node) result_.saving.push_back(&node);
    result_.saved.push_back(value);
  }

  bool is_stop(const Node& node) const {
    return std::ranges::any_of(stops_, [&](const ValueRef& stop) { return stop.node == &node; });
  }

  void apply(const Node& node) {
    if (is_stop(node)) return;
    if (differentiate(node)) result_.applied.push_back(&node);
  }

  // By node: whether gradients that it hands on arrive at an end.
  std::vector<bool> leading_to(std::span<const ValueRef> ends, size_t count) const {
    std::vector<bool> leads(count, false);
    for (size_t i = 0; i < count; ++i) {
      for (const Operand& operand : graph_.nodes()[i]->operands) {
        for_each_value(operand, [&](const ValueRef& value) {
          const ValueInfo& info = graph_.info(value);
          if (info.is_scalar || !info.spec.requires_grad) return;
          bool is_end = std::ranges::find(ends, value) != ends.end();
          leads[i] = leads[i] || is_end || leads[static_cast<size_t>(value.node->index)];
        });
      }
    }
    return leads;
  }

  ValueRef gradient_of(ValueRef value) {
    auto found = gradients().find(value);
    return found == gradients().end() ? ValueRef{} : own_value(found->second);
  }

  void find_leaves() {
    for (const auto& [value, gradient] : gradients())
      if (value.node->kind == NodeKind::TensorConst) raise(ErrorKind::NotImplemented, "a gradient of a constant");
    auto add = [this](ValueRef leaf) {
      ValueRef gradient = gradient_of(leaf);
      if (gradient.node != nullptr) result_.leaves.emplace_back(leaf, gradient);
    };
    for (Node* input : graph_.inputs()) add({input, 0});
    for (const ValueRef& stop : stops_) add(stop);
  }

  Graph& graph_;
  std::span<const ValueRef> stops_;
  GradientHistory history_;
  const AppendOp& append_;
  AppendedGradients result_;
};

}  // namespace

AppendedGradients append_gradients(Graph& graph, std::span<const GradientStart> starts,
                                   std::optional<std::span<const ValueRef>> ends, std::span<const ValueRef> stops,
                                   GradientHistory history, const AppendOp& append) {
  return GradientAppender(graph, stops, history, append).run(starts, ends);
}

}  // namespace md
