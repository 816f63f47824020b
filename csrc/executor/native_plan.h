// The plan produced by lower(): a flat list of steps over buffers.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "executor/kernel_step.h"
#include "executor/plan.h"
#include "executor/plan_facts.h"
#include "executor/size_changes.h"
#include "executor/sized_plans.h"

namespace md {

struct PlanInput {
  int buffer = -1;  // -1: a scalar, or a tensor that nothing reads
  std::string name;
};

// What a plan shares with its copies for other sizes.
struct PlanDescription {
  std::vector<PlanInput> inputs;
  std::vector<StepLabel> labels;      // by step
  std::vector<std::string> aliases;   // nodes without a step
  std::vector<std::string> in_place;  // writes without a step
  size_t first_write = 0;             // the first step that writes an input; the number of steps: none
  bool stands_in = false;             // SizedPlan::stands_in()
};

class NativePlan : public SizedPlan {
 public:
  // changes: null unless its sizes change.
  NativePlan(Layout layout, std::vector<std::unique_ptr<Step>> steps, std::vector<int> outputs, int call_count,
             std::shared_ptr<const PlanDescription> description, std::unique_ptr<SizeChanges> changes);
  ~NativePlan() override;

  bool take_sizes() override;
  std::shared_ptr<SizedPlan> copy() const override;
  bool stands_in() const override;
  bool has_new_layouts() const override { return changes_ != nullptr && changes_->has_new_layouts(); }

  void run(std::span<const GraphInput> inputs, std::span<Tensor> outputs) const override;
  void run_into(std::span<const GraphInput> inputs, std::span<Tensor> outputs, RunHost& host) const override;
  // The same; ns receives the time of each step, and at its end that of the whole run. `host` may be null.
  void run_timed(std::span<const GraphInput> inputs, std::span<Tensor> outputs, RunHost* host,
                 std::span<int64_t> ns) const;
  bool writes_inputs() const { return description_->first_write < steps_.size(); }
  size_t step_count() const { return steps_.size(); }
  PlanFacts facts() const override;
  std::string print() const override;
  double estimated_ns() const override { return estimated_ns_; }
  bool needs_gil() const override { return needs_gil_; }
  size_t nbytes() const override;

 private:
  std::unique_ptr<RunState> make_state() const;
  // The permanent part of a state.
  void prepare(RunState& state) const;
  // may_move: a buffer may have another place.
  bool take_step_sizes(size_t step, SizeChange change, bool& may_move);
  bool take_sizes_of_steps(bool all, bool& may_move);
  // Prepares a state again: its steps whose inputs have changed, if its buffers are where they were.
  void prepare_again(RunState& state, bool has_moved) const;
  void take_estimate(size_t step);
  void add_estimates();
  void find_outputs();
  // The output that is all of an Output buffer, so that the caller may make its memory; -1: none.
  int output_over(int buffer) const;
  std::unique_ptr<RunState> check_out() const;
  void give_back(std::unique_ptr<RunState> state) const;
  // `host` may be null.
  void bind(RunState& state, std::span<const GraphInput> inputs, RunHost* host) const;
  template <typename RunStep>
  void run_steps(RunHost* host, RunStep run_step) const;
  bool bind_given(RunState& state, int buffer, int output, RunHost& host) const;
  void make_outputs(RunState& state, std::span<Tensor> outputs) const;
  template <typename RunSteps>
  void run_with(std::span<const GraphInput> inputs, std::span<Tensor> outputs, RunHost* host, RunSteps run_steps) const;

  Layout layout_;
  std::vector<std::unique_ptr<Step>> steps_;
  std::shared_ptr<const PlanDescription> description_;
  std::unique_ptr<SizeChanges> changes_;
  std::vector<int> output_values_;
  // Outputs are created in order. A value that is returned twice is one tensor object, as in eager Python.
  struct Output {
    int value;
    size_t first;           // the first output with the same value
    bool takes_its_buffer;  // the last one that needs an Output buffer
  };
  std::vector<Output> outputs_;
  // Buffers allocated by each run, and the output that has all of it (-1: none).
  struct OutputBuffer {
    int buffer, output;
  };
  std::vector<OutputBuffer> output_buffers_;
  std::vector<int> made_;  // values allocated by their steps
  int call_count_;
  struct StepEstimate {
    double ns = 0;
    size_t nbytes = 0;
  };
  std::vector<StepEstimate> estimates_;  // by step
  double estimated_ns_ = 0;
  size_t steps_nbytes_ = 0;
  bool needs_gil_ = false;
  std::vector<std::pair<int, int>> shares_before_;  // while a step takes sizes: its StepMemory::may_share before
  bool has_sizes_ = true;  // false: take_sizes() has failed, and some steps have other sizes than the layout

  // One spare state, lock-free for the common case of a single caller; the others are guarded by a lock.
  mutable std::atomic<RunState*> spare_{nullptr};
  mutable std::mutex pool_mutex_;
  mutable std::vector<std::unique_ptr<RunState>> pool_;
};

}  // namespace md
