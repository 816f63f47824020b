// A plan that measures its steps: for the log perf and explain(). Costs nothing unless requested.
#pragma once
#include <memory>

#include "executor/native_plan.h"

namespace md {

// Plans created by this thread during its lifetime are measured, and each run is repeated until the caches are warm,
// unless a step may run only once.
class MeasuringScope {
 public:
  MeasuringScope();
  ~MeasuringScope();
  MeasuringScope(const MeasuringScope&) = delete;
  static bool is_active();

 private:
  bool outer_;
};

// The plan itself, or a measuring wrapper if a log or a scope requests it. sizes: as for print_perf_log().
std::shared_ptr<const Plan> measured_if_asked(std::shared_ptr<const NativePlan> plan, const Graph& graph,
                                              const std::string& sizes);

}  // namespace md
