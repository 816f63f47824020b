// One step of a plan: runs on addresses determined by the plan, allocates nothing.
#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "executor/plan_facts.h"
#include "executor/run_state.h"

namespace md {

// What a step needs of the memory plan.
struct StepMemory {
  std::vector<int> touched = {};                    // values in memory that it reads or writes
  std::vector<std::pair<int, int>> may_share = {};  // (result, operand): the result may overwrite the operand
};

class Step {
 public:
  virtual ~Step() = default;
  // Writes only its own results; threads may call it concurrently with different states.
  virtual void run(RunState& state) const = 0;
  // Sets up the permanent part of a new state.
  virtual void prepare(RunState&) const {}
  // "fused mul, add -> relu", for the plan log.
  virtual std::string describe() const = 0;
  // The implementation, for the kernels log.
  virtual std::string kernel() const = 0;
  virtual Work work() const = 0;
  virtual bool needs_gil() const { return false; }
  // Bytes that it owns besides itself: machine code, primitives.
  virtual size_t nbytes() const { return 0; }

  // For plans whose sizes change. The nodes that the step was lowered from and the layout have other sizes: recomputes
  // what depends on them. False: it was lowered for sizes that differ too much, and must not run until this succeeds.
  virtual bool take_sizes(const Layout&, StepMemory&) { return false; }
  // The same, if only offsets of views have changed since.
  virtual bool take_offsets(const Layout& layout, StepMemory& memory) { return take_sizes(layout, memory); }
  // Null: its plan has no copies.
  virtual std::unique_ptr<Step> copy() const { return nullptr; }
};

}  // namespace md
