// The state machine of a frame that we execute: look up or capture a region here -> run its plan -> restore the
// snapshot -> execute the instruction at which it ends -> look up the region at the next instruction ... ->
// return, or bail out to the evaluator.
#pragma once
#include "cpython/errors.h"
#include "eval_frame/bailout.h"
#include "eval_frame/check_captures.h"
#include "eval_frame/concrete.h"
#include "eval_frame/counters.h"
#include "eval_frame/frame_balance.h"
#include "eval_frame/left_code.h"
#include "eval_frame/region_exit.h"
#include "snapshot/caller_chain.h"
#include "snapshot/policy.h"

#include <optional>

namespace md {

// The slots of a frame as read by a guard program.
using FrameSlots = InlineVector<PyObject*, 16>;
void add_slots(PvFrame* frame, int count, FrameSlots& slots);
LocalsView view_of(PvFrame* frame, const FrameSlots& slots);

class FrameDriver {
 public:
  FrameDriver(LiveFrame& frame, const Policy* policy);
  // A frame materialised at a nested break; the caller's driver waits for its result.
  FrameDriver(LiveFrame& frame, FrameDriver& caller, const FrameImage& image);

  // The frame must be entered. Each function leaves it and returns its result.
  PyObject* run();                                      // from the frame's position
  PyObject* run_resumed();                              // the same for a frame that starts or is resumed
  PyObject* run_concretely();                           // the same without any region
  PyObject* run_workless(const RegionEntryPtr& entry);  // a stretch without work at the frame's start, then run()
  PyObject* run_from(RegionRun& run);                   // a region at the frame's start whose plan has run
  PyObject* run_inside(RegionRun& run);                 // a region at the frame's start, including its plan
  PyObject* run_stopped(RegionRun& run);                // a region at the frame's start, stopped at deferred I/O
  PyObject* run_ended(RegionRun& run, Ref error);       // a region at the frame's start that has returned, then `error`
  PyObject* resume(FrameImages& images, size_t level);  // frame is images[level]: restore and continue

 private:
  enum class Advance : uint8_t { Continue, Left };
  // One region, and the instruction after it. nullopt: no exception was raised, and the frame stays here.
  std::optional<Advance> handle_pending();
  Advance advance();
  Advance run_uncaptured(Bailout why);
  bool is_unprofitable(const RegionEntry& entry);
  // The first region of the frame.
  void note_start(const RegionEntryPtr& entry);
  void note_region(const RegionEntryPtr& entry);
  void note_instructions(int64_t count) {
    counters().concrete_instructions += count;
    balance_.add_instructions(count);
  }
  void note_end();
  Advance leave_to_python(RegionEntryPtr entry);
  Advance leave_empty_regions();
  // Work may follow the stretch: the driver executes it. What follows is learned for `entry`.
  Advance enter_stretch(const Stretch& more, RegionEntryPtr entry);
  Advance run_stretch();
  // Executes the instruction of a stretch, or the loop that begins there. The frame may be gone.
  StepResult step_or_lend();
  Advance run_region(RegionRun& run);
  // Loops whose steps need no look-up: linked_loop.cpp.
  bool may_link(const RegionEntry& entry) const;
  void leave_to_header(RegionRun& run);
  std::optional<Advance> go_round(const RegionEntryPtr& entry);  // nullopt: the next iteration begins
  Advance run_linked(RegionRun& first);                          // the plan of the first iteration has run
  bool take_numbers(const RegionEntryPtr& entry);
  Advance run_numbers();
  Advance raise_from_region(RegionRun* run);
  void keep_capture_error(const CaptureError& error);
  Advance raise_in_images(RegionRun& run, FailedHostCall& failed);
  Advance raise_saved();
  // Deferred I/O raised, or changed state that the region relies on: restores the frames as they are at that call.
  Advance stop_at_output(RegionRun& run);
  Advance leave_region(RegionRun& run);
  Advance return_result(Ref result, int index);
  // A signal handler raised after the region's effects: raises at the return.
  Advance raise_at_return(RegionRun& run, Ref error);
  // The locals visible through the frame object, if one exists.
  SlotObjects exit_locals(RegionRun& run, const std::vector<SlotValue>& slots) const;
  // The instruction may change the policy by entering or leaving error_on_graph_break.
  StepResult step_under(const AmbientPolicy& ambient) {
    StepResult done = step(frame_);
    if (ambient.now() != nullptr) policy_ = ambient.now();
    return done;
  }
  // `left`: the region that ends here, null if none does.
  Advance execute_here(RegionEntry* left = nullptr);
  Advance finish_step(const StepResult& done, RegionEntry* left);
  static void note_raised(RegionEntry& left);
  // The region has foreseen an exception of the instruction at `index`, which has been executed without one.
  Advance note_unraised(RegionEntry& left, int index);
  // The frame becomes images[level] and continues from there.
  Advance continue_with(FrameImages& images, size_t level);
  // What a region leaves to a suspended caller: the frame's result and where it returns, or the
  // images of it and the frames above.
  struct Arrival {
    RegionEntryPtr entry;  // keeps the states of the images alive
    FrameImages images;
    Ref result;
    int index;
    bool rest_uncaptured = false;
    SlotObjects locals;  // of a frame that returns
  };
  // The region continued in suspended callers: frames that it returned from leave, the last one continues.
  Advance leave_to_caller(RegionRun& run);
  Advance arrive();
  Advance take_inner_result(const FrameImage& inner, Ref result);
  Advance take_inner_error(const FrameImage& inner);
  Advance handle_raise(bool adds_entry = true);
  Advance bail_out_here(Bailout reason);
  Advance execute_last();
  // config.check_captures (checked_run.cpp). nullopt: the region is run as usual.
  std::optional<Advance> check_region(RegionRun& run);
  Advance go_on_checked();
  Advance stop_checked();
  Advance raise_checked();
  // The call at the frame's position enters the frame in which the region ends.
  Advance enter_checked();
  // Every frame from the region's entry down to this one is as expected; moves their contents out.
  void give_up_frames(size_t count);
  Advance leave_early();
  Advance give_up_check(Uncompared reason, Bailout why);
  bool excuse_check();  // whether a failure is excusable; ends the check if so
  Advance fail_check(const std::string& what, Ref cause);
  Advance raise_mismatch();
  PyObject* finish();
  LocalsView view();

  LiveFrame& frame_;
  const Policy* policy_;
  PyObject* result_ = nullptr;  // owned by the caller of run()
  FrameSlots slots_;
  FrameDriver* caller_ = nullptr;
  const FrameImage* image_ = nullptr;  // the materialised image, owned by the caller
  CallerChainPtr callers_;
  std::optional<Arrival> arrival_;
  LeftCode callees_;
  int empty_regions_ = 0;
  FrameBalance balance_;
  bool has_started_ = false;
  RegionEntryPtr first_;                  // the region at the start of the function; null: none, or it is not whole
  Stretch stretch_{0, -1};                // no regions start in it
  int lent_header_ = -1;                  // the last loop header of it found lendable
  std::optional<Stretch> numbers_;        // executed here while all operands are numbers
  bool takes_numbers_ = true;             // whether that has never failed in this frame
  RegionEntryPtr first_empty_;            // of the regions without a plan since the last one with
  std::vector<RegionEntryPtr> workless_;  // the entries of the stretches since the last plan
  bool only_concrete_ = false;            // no regions from here on
  // The region went through a back edge, where Python handles signals and switches threads:
  // done before the next instruction.
  bool pending_checks_due_ = false;
  bool rest_uncaptured_ = false;         // the innermost frame being restored bails out to the interpreter
  bool is_done_ = false;                 // the instruction at that frame's position has been executed
  RegionEntry* left_ = nullptr;          // the region of these images, until the innermost frame is restored
  Ref raising_;                          // raised at the position of the innermost frame being restored
  std::unique_ptr<CaptureCheck> check_;  // while the frame runs eagerly for it
  int checked_depth_ = 0;                // of the stack, below the operands of the frame's call
  // The region's exit was compared inside a call: the frame continues from there as it would without a check.
  struct Compared {
    RegionEntryPtr entry;  // keeps the states of the images alive
    FrameImages images;    // with Python's own values
  };
  std::optional<Compared> compared_;
  bool leaves_early_ = false;  // an intermediate frame: it will be created again
  // Set by a region under fullgraph in this frame or a callee: handlers in these frames run,
  // but the error is raised again.
  Ref capture_error_;
};

}  // namespace md
