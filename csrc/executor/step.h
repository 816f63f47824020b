// One step of a plan: runs on addresses determined by the plan, allocates nothing.
#pragma once
#include <string>

#include "executor/plan_facts.h"
#include "executor/run_state.h"

namespace md {

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
};

}  // namespace md
