// A region in the code cache, with the plan of its graph.
#pragma once
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "eval_frame/code_cache.h"
#include "eval_frame/frame_balance.h"
#include "executor/gradient_plan.h"
#include "executor/output_views.h"
#include "executor/plan.h"
#include "guards/frozen_tensor.h"
#include "guards/reused_tensor.h"
#include "symbolic/state/region.h"

namespace md {

// Whether a plan follows a region without one in its frame: learned from the frames that went through it. Where none
// does, later frames are left to the interpreter from the region's start.
class WorkBehind {
 public:
  // Of a stretch that was traced in vain, or began a loop without a plan: whether the driver executes it. One frame
  // that ends without a plan decides.
  bool may_exist() const { return may_exist_; }
  void set_may_exist() { is_searched_ = may_exist_ = true; }
  void note_end() { may_exist_ = has_plan_; }
  // Of another region without a plan: many frames in a row decide.
  bool is_missing() const { return empty_frames_ == kMostEmptyFrames || (is_searched_ && !may_exist_); }
  void note_empty_frame() { empty_frames_ = std::min(empty_frames_ + 1, kMostEmptyFrames); }

  void note_plan() {
    has_plan_ = true;
    empty_frames_ = 0;
  }
  // A frame that was left has called an operation: work is looked for again, a few times. Whether it is.
  bool note_operation() {
    if (searches_ == kMostSearches) return false;
    ++searches_;
    may_exist_ = is_searched_;
    empty_frames_ = 0;
    return true;
  }

 private:
  static constexpr int kMostSearches = 3, kMostEmptyFrames = 16;
  bool is_searched_ = false, may_exist_ = false, has_plan_ = false;
  int empty_frames_ = 0, searches_ = 0;
};

// Of plans whose region Python had to run again: an operation raises, or met floating-point exceptions. After some in a
// row Python runs the region at once, but for one time in many.
class FailedRuns {
 public:
  bool may_run() { return in_a_row_ < kMostInARow || ++left_out_ % kTriedAgain == 0; }
  void note(bool has_failed) { in_a_row_ = has_failed ? std::min(in_a_row_ + 1, kMostInARow) : 0; }

 private:
  static constexpr int kMostInARow = 3;
  static constexpr uint32_t kTriedAgain = 64;
  int in_a_row_ = 0;
  uint32_t left_out_ = 0;
};

struct RegionEntry : CacheEntry {
  explicit RegionEntry(CapturedRegion captured) : CacheEntry(std::move(captured.guards)), region(std::move(captured)) {}
  CapturedRegion region;                       // its guards have been moved to the base
  int instruction = 0;                         // at which it starts
  int code_id = 0;                             // CodeCache::frame_id() of its code
  bool breaks_are_errors = false;              // where it ends
  int64_t trace_ns = 0, plan_ns = 0;           // duration of the trace and of lowering
  std::shared_ptr<const Plan> plan;            // null: nothing to compute
  std::vector<std::string> recompile_reasons;  // the guards of older entries that failed
  std::shared_ptr<GradientPlan> gradients;     // of results that require grad (GradientWay::Plan), or null
  const TensorFamily* recorder = nullptr;      // whose history the results with gradients get; null: our own tape
  std::vector<int> recorded_writes;            // by output, of results that require grad: Recipe::writes
  // How many writes each written input counts, before a backward keeps what was written. The exit counts no more.
  std::vector<std::pair<int, int>> counted_inputs;
  std::vector<OutputView> output_views;       // of our own tensors
  bool draws = false;                         // uses random numbers
  bool calls_functions = false;               // its plan has nodes that call functions: OpKind::HostCall
  std::vector<const TensorFamily*> families;  // by output, where its memory is another library's; empty: nowhere
  std::vector<FrozenTensor> frozen;           // by input, if parameters stay as they are; else empty
  std::vector<ReusedTensor> reused;           // by input, where the graph is another library's; else empty
  bool is_sized = false;                      // the plan depends on the sizes of the inputs
  bool computes_inputs = false;               // some inputs of the graph have no source
  bool runs_plan_alone = false;               // a run is nothing but that of its plan
  std::string raised;                         // class last raised by the instruction at which it ends
  int64_t checks_left = 0;                    // config.check_captures
  FailedRuns failed_runs;
  WorkBehind behind;               // if it has no plan
  int64_t saved = 0;               // by a run, less what the run costs: loop_costs.def
  PoorFrames poor_frames;          // if it begins a function
  bool is_left_by_types = false;   // left to Python by guards on the types of the arguments alone
  bool links = false;              // runs again from its own exit: linked_loop.h
  std::optional<Stretch> numbers;  // its instructions, if executing them costs less than a look-up
  int runs_of_numbers = 0;
  // Whether nothing is to be counted, recorded, watched or undone beside the plan; set once all of it is known.
  bool needs_plan_alone() const {
    bool is_watched = !families.empty() || !region.host_calls.empty() || region.watched_flags != 0 || draws;
    bool writes = !region.input_writes.empty() || !counted_inputs.empty();
    return !is_watched && !writes && gradients == nullptr && recorder == nullptr && output_views.empty();
  }
  // The graph that the plan runs: it may have outputs behind the region's own.
  const Graph& run_graph() const {
    return gradients != nullptr && gradients->saves() ? *gradients->forward() : *region.graph;
  }
  // A stretch without work that the driver executes.
  bool is_driven() const { return region.workless && behind.may_exist() && !poor_frames.are_known(); }
  // Otherwise: whether Python runs the frame from here, and whether that was learned.
  bool is_left() const { return region.exit == ExitKind::Bailout || is_learned_to_be_left(); }
  bool was_learned() const { return region.workless.has_value() || is_learned_to_be_left(); }
  bool is_learned_to_be_left() const { return behind.is_missing() || poor_frames.are_known(); }
  // A frame that was left has called an operation.
  void note_operation() {
    if (behind.note_operation()) poor_frames.forget();
  }
  // Whether the user's frames must be linked while the region is run or left.
  bool needs_frame() const { return checks_left > 0 || region.needs_frame(); }
};
using RegionEntryPtr = std::shared_ptr<RegionEntry>;

}  // namespace md
