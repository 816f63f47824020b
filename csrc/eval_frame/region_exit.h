// Runs a region's plan and leaves the region: everything is fetched and built before anything is written.
#pragma once
#include <optional>
#include <vector>

#include "base/inline_array.h"
#include "eval_frame/bailout.h"
#include "eval_frame/effects.h"
#include "eval_frame/frame_image.h"
#include "eval_frame/live_frame.h"
#include "eval_frame/output_replay.h"
#include "eval_frame/region_entry.h"
#include "snapshot/value_builder.h"
#include "symbolic/tensors/host_calls.h"

namespace md {

// What leaving a region would do.
struct HeldExit {
  Ref result;  // exit Return
  FrameImages images;
  std::vector<HeldEffect> effects;
  std::vector<std::pair<int, Ref>> outputs;  // graph outputs that were wrapped as tensors
};

// The values of one snapshot while they are moved into frames.
class ExitValues {
 public:
  // Fetches the sources in the snapshot.
  ExitValues(const Snapshot& snapshot, const LocalsView& view, const FetchedObjects* fetched = nullptr)
      : snapshot_(snapshot), builder_(snapshot, view, fetched) {}
  ValueBuilder& builder() { return builder_; }
  // For exit Return: applies the effects and returns the result. Null: stopped at deferred I/O.
  Ref take_result(OutputReplay* outputs = nullptr, LiveFrame* frame = nullptr);
  // For other exits: applies the effects and returns the contents of every frame, which the images then own.
  // Empty: stopped at deferred I/O.
  FrameImages take_images(OutputReplay* outputs = nullptr, LiveFrame* frame = nullptr);
  // Instead of images, where slots are all that changes in one frame.
  SlotObjects take_slots(const std::vector<SlotValue>& slots, LiveFrame* frame);

  // Builds everything and applies nothing.
  HeldExit hold_back();

 private:
  void build_effects();
  HeldEffect hold(const Effect& effect);
  bool apply_effects(OutputReplay* outputs, LiveFrame* frame);
  const Snapshot& snapshot_;
  ValueBuilder builder_;
};

// One run of one region, from the check of its guards until its values are written.
class RegionRun {
 public:
  // Fetches the graph's inputs and the snapshot's sources. Keeps `entry` alive; `fetched`: by its guards, checked just
  // now; may be null.
  RegionRun(RegionEntryPtr entry, const LocalsView& view, const FetchedObjects* fetched = nullptr);

  const CapturedRegion& region() const { return entry_->region; }
  const RegionEntryPtr& entry() const { return entry_; }
  const LocalsView& view() const { return view_; }

  // Runs the plan. Returns false if it failed without visible effects; Python must then run from the region's start.
  // Throws PythonError if a backend's callable or a host call raised. `frame` is the region's frame, entered; only
  // needed by regions with host calls.
  bool run_plan(LiveFrame* frame = nullptr);
  // Why the plan did not run; the reason for the bail-out.
  Bailout failure() const { return failure_; }

  // Null or empty: the region is left at deferred I/O, as in stopped_output(). `frame` is the region's, null if it has
  // none; needed if its deferred I/O runs Python code.
  Ref take_result(LiveFrame* frame = nullptr) { return exit_.take_result(outputs_replay(), frame); }
  FrameImages take_images(LiveFrame* frame) { return exit_.take_images(outputs_replay(), frame); }
  // After take_result(): from then on only the frame and the result own the values, so that objects die where the
  // evaluator drops them. Python code may run.
  void release();
  SlotObjects take_slots(const std::vector<SlotValue>& slots, LiveFrame* frame) {
    return exit_.take_slots(slots, frame);
  }
  OutputReplay& replay() { return *replay_; }
  ValueBuilder& builder() { return exit_.builder(); }
  // Instead of either; must be the last call.
  HeldExit hold_back();
  // Call before take_images().
  SlotObjects build_slots(const std::vector<SlotValue>& slots) { return md::build_slots(slots, exit_.builder()); }
  // Whether its exception is raised in frames that must be created first, and has images for them.
  bool has_images_for(const FailedHostCall& failed) const;
  FrameImages take_failure_images(FailedHostCall& failed);

 private:
  template <bool is_foreign, typename Find>
  void read_inputs(Find find, bool from_sources);
  bool take_foreign(size_t i, const Ref& object);
  void drop_inputs();
  bool compute_numbers();
  std::shared_ptr<const Plan> sized_plan();  // null: the plan fits all sizes
  bool note_failure();                       // returns false
  bool run_plan_alone();
  bool run_steps();
  void take_outputs();
  bool still_holds();
  bool holds_after_signals(int64_t served);
  bool run_committing(const Plan& plan, int64_t served);
  bool run_with_host_calls(LiveFrame& frame);
  OutputReplay* outputs_replay() { return replay_ ? &*replay_ : nullptr; }
  RegionEntryPtr entry_;
  LocalsView view_;
  ExitValues exit_;
  std::optional<OutputReplay> replay_;
  InlineArray<GraphInput, 8> inputs_;
  std::vector<Ref> frozen_;  // the objects of inputs that do not own them
  InlineArray<Tensor, 4> outputs_;
  Bailout failure_ = Bailout::plan_failed;
  bool unfit_ = false;  // an argument does not fit into a graph input
};

void put(LiveFrame& frame, SlotObjects objects);
// Writes an image into an entered frame, whose position becomes the image's.
void restore(LiveFrame& frame, FrameImage& image);

}  // namespace md
