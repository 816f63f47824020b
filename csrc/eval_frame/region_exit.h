// Running a region's plan, and leaving the region: everything is fetched and built before anything is written.
#pragma once
#include <optional>
#include <vector>

#include "base/inline_array.h"
#include "eval_frame/frame_image.h"
#include "eval_frame/hand_over.h"
#include "eval_frame/live_frame.h"
#include "eval_frame/output_replay.h"
#include "eval_frame/region_entry.h"
#include "snapshot/value_builder.h"
#include "symbolic/call_outs.h"

namespace md {

// An effect that nobody has applied, with what it is about.
struct HeldEffect {
  const Effect* effect;
  Ref target, value, key;
};
// What leaving a region would do.
struct HeldExit {
  Ref result;  // exit Return
  FrameImages images;
  std::vector<HeldEffect> effects;
  std::vector<std::pair<int, Ref>> outputs;  // of the graph, as far as they are tensors that were made
};

// The values of one snapshot, on their way into the frames.
class ExitValues {
 public:
  // Fetches what the snapshot names.
  ExitValues(const Snapshot& snapshot, const LocalsView& view, const GuardMemory* memory = nullptr)
      : snapshot_(snapshot), builder_(snapshot, view, memory) {}
  ValueBuilder& builder() { return builder_; }
  // Exit Return: the result, effects applied. Null: an output stopped it.
  Ref take_result(OutputReplay* outputs = nullptr, LiveFrame* frame = nullptr);
  // Other exits: what every frame holds, effects applied. From then on the images alone hold the values. Empty: an output stopped it.
  FrameImages take_images(OutputReplay* outputs = nullptr, LiveFrame* frame = nullptr);

  // Everything is built and nothing applied.
  HeldExit hold_back();

 private:
  void build_effects();
  bool apply_effects(OutputReplay* outputs, LiveFrame* frame);
  const Snapshot& snapshot_;
  ValueBuilder builder_;
};

// One run of one region, from the check of its guards until its values are in place.
class RegionRun {
 public:
  // Fetches the graph's inputs and what the snapshot names. entry is kept alive; `memory` is what its look-up gave.
  RegionRun(RegionEntryPtr entry, const LocalsView& view, const GuardMemory* memory = nullptr);

  const CapturedRegion& region() const { return entry_->region; }
  const RegionEntryPtr& entry() const { return entry_; }
  const LocalsView& view() const { return view_; }

  // Runs the plan. False: it failed and nothing is visible; Python has to run from the region's start.
  // Throws PythonError when a backend's callable or a call-out raised. `frame` is the one that the region is of, entered; a region
  // without call-outs needs none.
  bool run_plan(LiveFrame* frame = nullptr);
  // Why it was not run, and what the rest of the frame is left for.
  HandOver failure() const { return failure_; }

  // Null, or empty: the region is left at an output, as stopped_output() says. `frame` is the region's, null if it has none;
  // a region with outputs that run Python code needs one.
  Ref take_result(LiveFrame* frame = nullptr) { return exit_.take_result(outputs_replay(), frame); }
  FrameImages take_images(LiveFrame* frame) { return exit_.take_images(outputs_replay(), frame); }
  OutputReplay& replay() { return *replay_; }
  ValueBuilder& builder() { return exit_.builder(); }
  // Instead of either; nothing else is asked afterwards.
  HeldExit hold_back();
  // Before take_images.
  SlotObjects build_slots(const std::vector<SlotValue>& slots) { return md::build_slots(slots, exit_.builder()); }
  // Whether its exception is raised in frames that are made first; their images.
  bool has_images_for(const FailedCallOut& failed) const;
  FrameImages take_failure_images(FailedCallOut& failed);

 private:
  template <typename Find>
  void read_inputs(Find find, bool from_sources);
  bool compute_numbers();
  bool run_steps();
  bool still_holds();
  bool run_with_call_outs(LiveFrame& frame);
  OutputReplay* outputs_replay() { return replay_ ? &*replay_ : nullptr; }
  RegionEntryPtr entry_;
  LocalsView view_;
  ExitValues exit_;
  std::optional<OutputReplay> replay_;
  InlineArray<GraphInput, 8> inputs_;
  InlineArray<Tensor, 4> outputs_;
  HandOver failure_ = HandOver::plan_failed;
  bool unfit_ = false;  // an argument that no graph input can hold
};

void put(LiveFrame& frame, SlotObjects objects);
// Writes an image into a frame that is entered; its position becomes the image's.
void restore(LiveFrame& frame, FrameImage& image);

}  // namespace md
