// Runs any op by its eager kernel.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "executor/step.h"

namespace md {

// An argument that differs between runs, or is in the arena.
struct ArgPatch {
  int arg = 0;
  int item = -1;   // position in a list argument, -1: the argument itself
  int value = -1;  // a tensor value
  int input = -1;  // or a graph input: passed unchanged, tensor or scalar
};

class KernelStep : public Step {
 public:
  // args: the constants; each value among the operands has a patch. call: index into RunState::calls.
  // changes: the sizes of the node, which must outlive the step, or of what it reads, change.
  KernelStep(const Node& node, std::vector<Arg> args, std::vector<ArgPatch> patches, std::vector<int> outs, int call,
             bool changes);

  void run(RunState& state) const override;
  std::string describe() const override;
  std::string kernel() const override { return op_.kind == OpKind::HostCall ? "a call" : "a kernel of its own"; }
  Work work() const override { return work_; }
  bool needs_gil() const override { return op_.kind == OpKind::HostCall && op_.host_call.needs_gil; }
  void prepare(RunState& state) const override;
  bool take_sizes(const Layout& layout, StepMemory& memory) override;
  bool take_offsets(const Layout&, StepMemory&) override { return true; }
  std::unique_ptr<Step> copy() const override;

 private:
  void run_kernel(RunState& state, KernelCall& call) const;
  void run_and_take(RunState& state, KernelCall& call) const;
  void release(RunState& state, KernelCall& call) const;

  const OpRow& op_;
  const Node* node_;  // null: its sizes do not change
  std::shared_ptr<const std::string> name_;
  std::vector<Arg> args_;
  std::vector<ArgPatch> patches_;
  std::vector<int> outs_;
  int call_;
  bool may_pack_;
  Work work_;
};

}  // namespace md
