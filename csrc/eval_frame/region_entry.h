// A region in the code cache, with the plan of its graph.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "eval_frame/code_cache.h"
#include "executor/plan.h"
#include "symbolic/state/region.h"

namespace md {

struct RegionEntry : CacheEntry {
  explicit RegionEntry(CapturedRegion captured) : CacheEntry(std::move(captured.guards)), region(std::move(captured)) {}
  CapturedRegion region;                       // its guards have been moved to the base
  int instruction = 0;                         // at which it starts
  int64_t trace_ns = 0, plan_ns = 0;           // duration of the trace and of lowering
  std::shared_ptr<const Plan> plan;            // null: nothing to compute
  std::vector<std::string> recompile_reasons;  // the guards of older entries that failed
  bool draws = false;                          // uses random numbers
  std::vector<const TensorFamily*> families;   // by output, where its memory is another library's; empty: nowhere
  bool is_sized = false;                       // the plan depends on the sizes of the inputs
  bool computes_inputs = false;                // some inputs of the graph have no source
  std::string raised;                          // class last raised by the instruction at which it ends
  int64_t checks_left = 0;                     // config.check_captures
  // Whether the user's frames must be linked while the region is run or left.
  bool needs_frame() const { return checks_left > 0 || region.needs_frame(); }
};
using RegionEntryPtr = std::shared_ptr<RegionEntry>;

}  // namespace md
