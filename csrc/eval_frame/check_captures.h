// config.check_captures: what a region's plan gives, held back, against what plain Python comes to from the region's first instruction on.
//  1. The plan runs. What leaving the region would write is built, and not written; memory and random numbers are put back.
//  2. The driver executes the frame instruction by instruction (checked_run.cpp), what it calls in plain Python, until the exit. Frames that
//     wait for this one follow, each to its own place.
//  3. There both are compared, and Python's state goes on.
#pragma once
#include <array>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "eval_frame/predicted_state.h"
#include "eval_frame/region_exit.h"
#include "tensor/kernels/random.h"

namespace md {

enum class Uncompared : uint8_t {
#define MD_UNCOMPARED(name, doc) name,
#include "eval_frame/check_captures.def"
#undef MD_UNCOMPARED
};

struct UncomparedRow {
  const char* name;
  const char* doc;
};
inline constexpr UncomparedRow kUncomparedRows[] = {
#define MD_UNCOMPARED(name, doc) {#name, doc},
#include "eval_frame/check_captures.def"
#undef MD_UNCOMPARED
};

// Since the start or the last reset.
struct CheckCounts {
  int64_t compared = 0, mismatches = 0;
  std::array<int64_t, std::size(kUncomparedRows)> uncompared{};
};
CheckCounts& check_counts();
void count_uncompared(Uncompared reason);

// While one lives this thread runs plain Python that stands for captured code: what asks whether it is captured is told so.
class CheckedPython {
 public:
  CheckedPython() { ++depth_; }
  ~CheckedPython() { --depth_; }
  CheckedPython(const CheckedPython&) = delete;
  static bool in_progress() { return depth_ > 0; }

 private:
  static inline thread_local int depth_ = 0;
};

// The same policy, under which nothing is captured.
const Policy* plain_policy(const Policy* policy);

class CaptureCheck {
 public:
  // Why the region cannot be compared; nothing: it can.
  static std::optional<Uncompared> refusal(RegionRun& run);
  // Runs the plan. Null: it failed and nothing is visible. frames: the region's own, entered, and those that wait for it, innermost first.
  static std::unique_ptr<CaptureCheck> start(RegionRun& run, std::span<LiveFrame* const> frames);

  const RegionEntryPtr& entry() const { return entry_; }
  const CapturedRegion& region() const { return entry_->region; }
  // Under which the frame's instructions are executed; programs change it.
  const Policy* policy() const { return policy_; }
  void set_policy(const Policy* policy) { policy_ = policy; }

  // Why Python may come to another place although nothing is wrong: an output of the region may have raised.
  std::optional<Uncompared> excuse() const {
    return region().outputs.empty() ? std::nullopt : std::optional(Uncompared::output_raised);
  }

  bool is_at_stop() const { return left_ <= 0; }
  void count_step() { --left_; }
  // The frame stands where it is to be.
  bool stands_right(const LiveFrame& frame) const { return frame.index() == stop(); }
  // Whether this frame returns there to one that waits.
  bool returns_here() const { return returned_ < region().snapshot.returns.size(); }
  // The next frame goes on, under this policy.
  void go_to_caller(const Policy* policy);
  // Whether the region ends in a function that this frame calls at its stop.
  bool ends_inside() const { return !returns_here() && level_ + 1 < region().snapshot.frames.size(); }
  bool is_inside() const { return level_ > 0; }  // of one that was entered
  const FrameImage& inner_image() const { return held_.images[level_ + 1]; }
  // Python's own function for it; null: not to be found.
  BorrowedRef inner_function(const LiveFrame& caller) const;
  // How many values there are on the stack below those that the call takes.
  int depth_at_stop(const LiveFrame& frame) const;
  void go_inside(const LiveFrame& inner);
  BorrowedRef continuation_value(size_t level) const { return held_.images[level].continuation_value; }
  // What stands for a value of the snapshot, or for the parts of a tuple.
  Ref python_value(BorrowedRef captured) const;

  // At the exit: the frames of the snapshot, outermost first, and how much of each one's stack there is below what its call takes.
  struct Standing {
    LiveFrame* frame;
    int depth;
  };
  bool compare(std::span<const Standing> frames);
  // Sets CaptureMismatch: the difference that compare() found, or that Python did not reach the exit, and why.
  void raise_mismatch(const LiveFrame& frame);
  void raise_not_reached(const LiveFrame& frame, const std::string& what, Ref cause);

 private:
  CaptureCheck(RegionEntryPtr entry, const Policy* policy);
  int stop() const;
  void judge_outputs();
  void keep_starts(std::span<LiveFrame* const> frames);
  void compare_frame(size_t level, const Standing& standing);
  void compare_slots(size_t level, const Standing& standing);
  void compare_stack(size_t level, const Standing& standing);
  void raise(const LiveFrame& frame, const std::string& text, BorrowedRef captured, BorrowedRef python);

  struct Start {
    std::vector<Ref> slots, stack;
  };
  RegionEntryPtr entry_;
  const Policy* policy_;
  HeldExit held_;
  ValueComparison comparison_;
  PredictedState predicted_;
  RandomState drawn_;
  std::vector<Start> starts_;  // the region's own frame and those that wait for it
  size_t returned_ = 0;        // frames that have returned
  size_t level_ = 0;           // of the snapshot's frames: the one that runs
  int64_t left_ = 0;           // instructions of it
};

}  // namespace md
