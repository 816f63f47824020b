// A plan that measures its steps: the log perf, explain(). A plan that is not asked to does not know of this.
#pragma once
#include <memory>

#include "executor/native_plan.h"

namespace md {

// Plans that this thread makes while it exists are measured, and each run of one is repeated until the caches are warm,
// unless a step may be run only once.
class MeasuringScope {
 public:
  MeasuringScope();
  ~MeasuringScope();
  MeasuringScope(const MeasuringScope&) = delete;

 private:
  bool outer_;
};

// The plan itself, or one that measures it where a log or a scope asks for that. sizes: as print_perf_log has it.
std::shared_ptr<const Plan> measured_if_asked(std::shared_ptr<const NativePlan> plan, const Graph& graph,
                                              const std::string& sizes);

}  // namespace md
