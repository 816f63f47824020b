#include "executor/two_stage_plan.h"

#include <algorithm>

#include "base/error.h"

namespace md {
namespace {

class TwoStagePlan : public Plan {
 public:
  TwoStagePlan(std::shared_ptr<const Plan> first, std::shared_ptr<const Plan> second, size_t values_across)
      : first_(std::move(first)), second_(std::move(second)), values_across_(values_across) {}

  void run(std::span<const GraphInput> inputs, std::span<Tensor> outputs) const override {
    std::vector<Tensor> across(values_across_);
    first_->run(inputs, across);
    std::vector<GraphInput> all(inputs.begin(), inputs.end());
    for (Tensor& tensor : across) all.push_back({.tensor = std::move(tensor)});
    second_->run(all, outputs);
  }

  std::string print() const override {
    return str_cat(first_->print(), "then, with the sizes computed above:\n", second_->print());
  }

  PlanFacts facts() const override {
    PlanFacts facts = first_->facts(), rest = second_->facts();
    facts.steps.insert(facts.steps.end(), rest.steps.begin(), rest.steps.end());
    facts.places.insert(facts.places.end(), rest.places.begin(), rest.places.end());
    facts.in_place.insert(facts.in_place.end(), rest.in_place.begin(), rest.in_place.end());
    facts.arena_nbytes += rest.arena_nbytes;
    facts.runs = std::min(facts.runs, rest.runs);
    facts.times.fastest_ns += rest.times.fastest_ns;
    facts.times.total_ns += rest.times.total_ns;
    return facts;
  }

  double estimated_ns() const override { return first_->estimated_ns() + second_->estimated_ns(); }
  // Plans lowered during a run write to logs.
  bool needs_gil() const override { return true; }
  size_t nbytes() const override { return first_->nbytes() + second_->nbytes(); }

 private:
  std::shared_ptr<const Plan> first_, second_;
  size_t values_across_;
};

}  // namespace

std::shared_ptr<const Plan> two_stage_plan(std::shared_ptr<const Plan> first, std::shared_ptr<const Plan> second,
                                           size_t values_across) {
  return std::make_shared<TwoStagePlan>(std::move(first), std::move(second), values_across);
}

}  // namespace md
