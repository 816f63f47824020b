#include "symbolic/values/value_check.h"

#include "base/error.h"

namespace md {
namespace {

class ValueCheck {
 public:
  explicit ValueCheck(const Graph& graph) {
    for (const auto& node : graph.nodes()) nodes_.insert(node.get());
  }

  void value(const ValuePtr& value) const {
    if (auto* number = as<NumberValue>(value)) ref(number->ref, "a number");
    auto* tensor = as<TensorValue>(value);
    if (tensor == nullptr) return;
    if (tensor->ref.node != nullptr) ref(tensor->ref, "a tensor");
    if (tensor->base == nullptr) return;
    ref(tensor->base->original, "what a tensor is a view of");
    ref(tensor->base->current, "what a tensor is now a view of");
    for (const ViewStep& step : tensor->views)
      for (size_t i = 1; i < step.operands.size(); ++i) operand(step.operands[i], "a view");
  }

  void operand(const Operand& operand, const char* what) const {
    for_each_value(operand, [&](const ValueRef& value) { ref(value, what); });
  }

  void ref(const ValueRef& value, const char* what) const {
    bool is_there =
        nodes_.contains(value.node) && value.out >= 0 && static_cast<size_t>(value.out) < value.node->outs.size();
    if (!is_there) raise(ErrorKind::Internal, what, " refers to a node that is not in the graph of its region");
  }

 private:
  std::unordered_set<const Node*> nodes_;
};

}  // namespace

void check_values(const Graph& graph, std::span<const ValuePtr> values, std::span<const ValueRef> outputs) {
  ValueCheck check(graph);
  for (const auto& node : graph.nodes())
    for (const Operand& operand : node->operands) check.operand(operand, "an operand");
  for (const ValuePtr& value : values) check.value(value);
  for (const ValueRef& output : outputs) check.ref(output, "an output");
}

}  // namespace md
