#include "executor/plan.h"
#include "executor/sized_plans.h"

namespace md {
namespace {

class EagerPlan : public Plan {
 public:
  explicit EagerPlan(std::shared_ptr<const Graph> graph) : graph_(std::move(graph)) {
    for (const auto& node : graph_->nodes()) {
      if (node->kind != NodeKind::Op) continue;
      needs_gil_ = needs_gil_ || (node->op->kind == OpKind::HostCall && node->op->host_call.needs_gil);
      estimated_ns_ += node_ns(*node);
    }
  }

  void run(std::span<const GraphInput> inputs, std::span<Tensor> outputs) const override {
    std::vector<Tensor> results = run_eagerly(*graph_, inputs);
    MD_ASSERT(results.size() == outputs.size(), "a plan is called as its graph says");
    for (size_t i = 0; i < results.size(); ++i) outputs[i] = std::move(results[i]);
  }

  std::string print() const override { return "eager plan, op by op:\n" + md::print(*graph_); }
  double estimated_ns() const override { return estimated_ns_; }
  bool needs_gil() const override { return needs_gil_; }

 private:
  static double node_ns(const Node& node) {
    double elements = 0;
    for (const ValueInfo& info : node.outs) elements += static_cast<double>(info.spec.numel().hint());
    return 200 + elements;
  }

  std::shared_ptr<const Graph> graph_;
  double estimated_ns_ = 0;
  bool needs_gil_ = false;
};

}  // namespace

std::shared_ptr<const Plan> eager_plan(const std::shared_ptr<const Graph>& graph) {
  auto make = [](const std::shared_ptr<const Graph>& concrete, const std::string&) -> std::shared_ptr<const Plan> {
    return std::make_shared<EagerPlan>(concrete);
  };
  return plan_for_any_sizes(graph, {.make = make});
}

}  // namespace md
