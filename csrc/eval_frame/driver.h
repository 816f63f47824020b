// The state machine of a frame under the evaluator:
//   look up or capture the region here -> run its plan -> restore the snapshot -> execute the instruction at which it ends
//   -> look up the region at the next instruction ... -> return, or hand the rest over.
#pragma once
#include "cpython/errors.h"
#include "eval_frame/check_captures.h"
#include "eval_frame/hand_over.h"
#include "eval_frame/region_exit.h"
#include "snapshot/caller_chain.h"
#include "snapshot/policy.h"

#include <optional>

namespace md {

// The slots of a frame as a guard program reads them.
using FrameSlots = InlineVector<PyObject*, 16>;
void add_slots(PvFrame* frame, int count, FrameSlots& slots);
LocalsView view_of(PvFrame* frame, const FrameSlots& slots);

class FrameDriver {
 public:
  FrameDriver(LiveFrame& frame, const Policy* policy);
  // A frame materialised at a nested break; the caller's driver waits for its result.
  FrameDriver(LiveFrame& frame, FrameDriver& caller, const FrameImage& image);

  // The frame is entered. Each leaves it and gives its result.
  PyObject* run();                                 // from the frame's position
  PyObject* run_resumed();                         // the same of a frame that starts or is resumed
  PyObject* run_concretely();                      // the same without any region
  PyObject* run_from(RegionRun& run);              // a region whose plan has run, at the frame's start
  PyObject* run_inside(RegionRun& run);            // a region at the frame's start, its plan as well
  PyObject* run_stopped(RegionRun& run);           // a region at the frame's start that an output stopped
  PyObject* run_ended(RegionRun& run, Ref error);  // a region at the frame's start that has returned, and then this
  PyObject* resume(FrameImages& images, size_t level);  // frame is images[level]: restore, go on from there

 private:
  enum class Advance : uint8_t { Continue, Left };
  // One region, and the instruction after it.
  // Nothing: no exception was raised, and the frame stays here.
  std::optional<Advance> serve();
  Advance advance();
  Advance go_on_uncaptured(HandOver why);
  bool is_fruitless(const RegionEntry& entry);
  Advance run_region(RegionRun& run);
  Advance raise_from_region(RegionRun* run);
  void keep_capture_error(const CaptureError& error);
  Advance raise_in_images(RegionRun& run, FailedCallOut& failed);
  Advance raise_saved();
  // An output has raised, or has changed what the region goes on with: the frames become what they are there.
  Advance stop_at_output(RegionRun& run);
  Advance leave_region(RegionRun& run);
  Advance return_result(Ref result, int index);
  // A handler of a signal has raised after the region's effects, where it returns.
  Advance raise_at_return(RegionRun& run, Ref error);
  // What whoever holds the frame object will see in it; nothing if nobody does.
  SlotObjects last_locals(RegionRun& run, const std::vector<SlotValue>& slots) const;
  // `left`: the region that ends here, null if none does.
  Advance execute_here(RegionEntry* left = nullptr);
  // The frame becomes images[level], and goes on from there.
  Advance go_on(FrameImages& images, size_t level);
  // What a region has left to a waiting frame: the frame's result and where it returns, or what it and those above will hold.
  struct Arrival {
    RegionEntryPtr entry;  // keeps the states that the images refer to
    FrameImages images;
    Ref result;
    int index;
    bool leaves_rest = false;
    SlotObjects locals;  // of a frame that returns
  };
  // The region went on in waiting frames: each frame that it returned from leaves, the last one goes on.
  Advance leave_to_caller(RegionRun& run);
  Advance arrive();
  Advance take_inner_result(const FrameImage& inner, Ref result);
  Advance handle_raise(bool adds_entry = true);
  Advance hand_over_here(HandOver reason);
  Advance execute_last();
  // config.check_captures (checked_run.cpp). Nothing: the region is run as usual.
  std::optional<Advance> check_region(RegionRun& run);
  Advance go_on_checked();
  Advance stop_checked();
  Advance raise_checked();
  // The call at which the frame stands goes to where the region ends.
  Advance enter_checked();
  // Every frame from where the region was entered down to this one is as it is to be, and gives up what it holds.
  void give_up_frames(size_t count);
  Advance leave_early();
  Advance give_up_check(Uncompared reason, HandOver why);
  bool excuse_check();  // whether a failure may be nobody's fault; then there is no check any more
  Advance fail_check(const std::string& what, Ref cause);
  Advance raise_mismatch();
  PyObject* finish();
  LocalsView view();

  LiveFrame& frame_;
  const Policy* policy_;
  PyObject* result_ = nullptr;  // owned by the caller of run()
  FrameSlots slots_;
  FrameDriver* caller_ = nullptr;
  const FrameImage* image_ = nullptr;  // as materialised, owned by the caller
  CallerChainPtr callers_;
  std::optional<Arrival> arrival_;
  int empty_regions_ = 0;
  bool only_concrete_ = false;  // no region from here on
  // A region went through a back edge, where Python serves signals and other threads: it is done before the next instruction.
  bool owes_service_ = false;
  bool leaves_rest_ = false;     // the innermost frame that is being restored goes to the interpreter
  bool is_done_ = false;         // the instruction at which that frame stands has been executed
  RegionEntry* left_ = nullptr;  // the region whose images these are, until the innermost frame is restored
  Ref raising_;                  // by the instruction at which the innermost frame that is being restored stands
  std::unique_ptr<CaptureCheck> check_;  // while the frame runs in plain Python for it
  int checked_depth_ = 0;                // of the stack, below what the frame's call takes
  // The region's exit was compared inside a call: the frame goes on from there as it would have without a check.
  struct Compared {
    RegionEntryPtr entry;  // keeps the states that the images refer to
    FrameImages images;    // with Python's own values
  };
  std::optional<Compared> compared_;
  bool leaves_early_ = false;  // a frame between: it will be made anew
  // Of a region under fullgraph in this frame or in one that it waits for: handlers in them run, and cannot end it.
  Ref capture_error_;
};

}  // namespace md
