#include "executor/timed_plan.h"

#include <algorithm>
#include <chrono>

#include "base/log.h"
#include "executor/ceilings.h"

namespace md {
namespace {

thread_local bool measuring = false;

// A repeated run ends at either limit.
constexpr int kMostRuns = 30;
constexpr int64_t kMostNs = 20'000'000;

class TimedPlan : public Plan {
 public:
  TimedPlan(std::shared_ptr<const NativePlan> plan, std::string place, std::string sizes, bool repeats)
      : plan_(std::move(plan)),
        place_(std::move(place)),
        sizes_(std::move(sizes)),
        repeats_(repeats),
        times_(plan_->step_count() + 1) {}

  void run(std::span<const GraphInput> inputs, std::span<Tensor> outputs) const override {
    run_timed(inputs, outputs, nullptr);
  }
  void run_into(std::span<const GraphInput> inputs, std::span<Tensor> outputs, RunHost& host) const override {
    run_timed(inputs, outputs, &host);
  }

  PlanFacts facts() const override {
    PlanFacts facts = plan_->facts();
    std::lock_guard lock(mutex_);
    const Ceilings* ceilings = runs_ > 0 ? &Ceilings::measured() : nullptr;
    for (size_t i = 0; i < facts.steps.size(); ++i) {
      facts.steps[i].times = times_[i];
      if (ceilings != nullptr) facts.steps[i].least_ns = ceilings->least_ns(facts.steps[i].work);
    }
    facts.times = times_.back();
    facts.runs = runs_;
    return facts;
  }

  std::string print() const override { return plan_->print(); }
  double estimated_ns() const override { return plan_->estimated_ns(); }
  bool needs_gil() const override { return plan_->needs_gil(); }
  size_t nbytes() const override { return plan_->nbytes(); }

 private:
  void run_timed(std::span<const GraphInput> inputs, std::span<Tensor> outputs, RunHost* host) const {
    std::vector<int64_t> ns(times_.size());
    int64_t since = 0;
    for (int runs = 0; runs == 0 || (repeats_ && runs < kMostRuns && since < kMostNs); ++runs) {
      plan_->run_timed(inputs, outputs, host, ns);
      since += ns.back();
      if (add(ns) && log_enabled(LogArtifact::perf))
        log_event(LogArtifact::perf, print_perf_log(facts(), place_, sizes_));
    }
  }

  // Returns true at runs 1, 10, 100 ..., which are reported.
  bool add(std::span<const int64_t> ns) const {
    std::lock_guard lock(mutex_);
    for (size_t i = 0; i < ns.size(); ++i) {
      times_[i].fastest_ns = runs_ == 0 ? ns[i] : std::min(times_[i].fastest_ns, ns[i]);
      times_[i].total_ns += ns[i];
    }
    bool is_reported = ++runs_ == next_reported_;
    if (is_reported) next_reported_ *= 10;
    return is_reported;
  }

  std::shared_ptr<const NativePlan> plan_;
  std::string place_, sizes_;
  bool repeats_;
  mutable std::mutex mutex_;
  mutable std::vector<StepTimes> times_;  // by step, and of the whole run
  mutable int64_t runs_ = 0;
  mutable int64_t next_reported_ = 1;
};

bool may_repeat(const Graph& graph) {
  return std::all_of(graph.nodes().begin(), graph.nodes().end(),
                     [](const auto& node) { return node->kind != NodeKind::Op || node->op->is_pure(); });
}

}  // namespace

MeasuringScope::MeasuringScope() : outer_(std::exchange(measuring, true)) {}
MeasuringScope::~MeasuringScope() { measuring = outer_; }
bool MeasuringScope::is_active() { return measuring; }

std::shared_ptr<const Plan> measured_if_asked(std::shared_ptr<const NativePlan> plan, const Graph& graph,
                                              const std::string& sizes) {
  if (!measuring && !log_enabled(LogArtifact::perf)) return plan;
  bool repeats = measuring && may_repeat(graph) && !plan->writes_inputs();
  return std::make_shared<TimedPlan>(std::move(plan), graph_place(graph), sizes, repeats);
}

}  // namespace md
