#include "executor/sized_plans.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "base/config.h"
#include "executor/two_stage_plan.h"
#include "graph/symbols.h"

namespace md {
namespace {

class SizedPlans : public Plan {
 public:
  SizedPlans(std::shared_ptr<const Graph> graph, SymbolList symbols, GraphPlanMaker make)
      : graph_(std::move(graph)),
        symbols_(std::move(symbols)),
        places_(symbol_places(*graph_, symbols_)),
        make_(make),
        needs_gil_(graph_->has_host_call()) {}

  void run(std::span<const GraphInput> inputs, std::span<Tensor> outputs) const override {
    for_inputs(inputs)->run(inputs, outputs);
  }

  std::shared_ptr<const Plan> for_inputs(std::span<const GraphInput> inputs) const override {
    std::vector<int64_t> values = symbol_values(places_, inputs);
    {
      std::lock_guard lock(mutex_);
      auto known = plans_.find(values);
      if (known != plans_.end()) {
        known->second.last_use = ++clock_;
        return known->second.plan;
      }
    }
    std::shared_ptr<const Plan> plan = make_(with_numbers(*graph_, symbols_, values), sizes_text(values));
    keep(std::move(values), plan);
    return plan;
  }

  std::string print() const override {
    std::lock_guard lock(mutex_);
    std::string text;
    for (const auto& [values, sized] : plans_) text += str_cat("for ", sizes_text(values), "\n", sized.plan->print());
    return text.empty() ? "no plan yet: the sizes differ from run to run\n" : text;
  }

  PlanFacts facts() const override {
    std::lock_guard lock(mutex_);
    auto last = std::max_element(plans_.begin(), plans_.end(),
                                 [](const auto& a, const auto& b) { return a.second.last_use < b.second.last_use; });
    return last == plans_.end() ? PlanFacts() : last->second.plan->facts();
  }

  // Unknown before the sizes are: use the plan returned by for_inputs().
  double estimated_ns() const override { return 0; }
  bool needs_gil() const override { return needs_gil_; }

 private:
  struct Sized {
    std::shared_ptr<const Plan> plan;
    size_t nbytes = 0;
    uint64_t last_use = 0;
  };

  std::string sizes_text(const std::vector<int64_t>& values) const {
    std::string text;
    for (size_t i = 0; i < values.size(); ++i)
      text += str_cat(i == 0 ? "" : ", ", symbols_.symbols()[i].str(), " = ", values[i]);
    return text;
  }

  // The newest plan is always kept, however large it is.
  void keep(std::vector<int64_t> values, const std::shared_ptr<const Plan>& plan) const {
    std::vector<std::shared_ptr<const Plan>> dropped;  // freed without the lock
    std::lock_guard lock(mutex_);
    auto [at, is_new] = plans_.try_emplace(std::move(values), Sized{plan, plan->nbytes(), ++clock_});
    if (!is_new) return;
    nbytes_ += at->second.nbytes;
    while (nbytes_ > static_cast<size_t>(std::max<int64_t>(config().sized_plans_nbytes, 0)) && plans_.size() > 1) {
      auto oldest = std::min_element(plans_.begin(), plans_.end(), [](const auto& a, const auto& b) {
        return a.second.last_use < b.second.last_use;
      });
      nbytes_ -= oldest->second.nbytes;
      dropped.push_back(std::move(oldest->second.plan));
      plans_.erase(oldest);
    }
  }

  std::shared_ptr<const Graph> graph_;
  SymbolList symbols_;
  std::vector<SymbolPlace> places_;
  GraphPlanMaker make_;
  bool needs_gil_;

  mutable std::mutex mutex_;
  mutable std::map<std::vector<int64_t>, Sized> plans_;
  mutable size_t nbytes_ = 0;
  mutable uint64_t clock_ = 0;
};

}  // namespace

std::shared_ptr<const Plan> plan_for_any_sizes(const std::shared_ptr<const Graph>& graph, GraphPlanMaker make) {
  if (std::optional<CutGraph> cut = cut_at_unbacked_sizes(*graph)) {
    return two_stage_plan(plan_for_any_sizes(cut->first, make), plan_for_any_sizes(cut->second, make),
                          cut->first->outputs().size());
  }
  SymbolList symbols = symbols_of(*graph);
  if (symbols.symbols().empty()) return make(graph, {});
  return std::make_shared<SizedPlans>(graph, std::move(symbols), make);
}

}  // namespace md
