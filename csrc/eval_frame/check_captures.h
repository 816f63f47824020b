// config.check_captures: compares the result of a region's plan, held back, with eager execution from
// the region's first instruction.
// 1. The plan runs. What leaving the region would write is built but not written; memory and random state are restored.
// 2. The driver executes the frame instruction by instruction (checked_run.cpp), with its callees uncompiled, up to the
// exit. Suspended callers follow, each to its own position.
// 3. There both states are compared, and execution continues with Python's.
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

// During its lifetime this thread runs eager Python in place of captured code: queries
// whether code is captured answer yes.
class CheckedPython {
 public:
  CheckedPython() { ++depth_; }
  ~CheckedPython() { --depth_; }
  CheckedPython(const CheckedPython&) = delete;
  static bool in_progress() { return depth_ > 0; }

 private:
  static inline thread_local int depth_ = 0;
};

// The same policy with capturing disabled.
const Policy* plain_policy(const Policy* policy);

class CaptureCheck {
 public:
  // Why the region cannot be compared; nullopt if it can.
  static std::optional<Uncompared> refusal(RegionRun& run);
  // Runs the plan. Returns null if it failed without visible effects. frames: the region's own, entered, and its
  // suspended callers, innermost first.
  static std::unique_ptr<CaptureCheck> start(RegionRun& run, std::span<LiveFrame* const> frames);

  const RegionEntryPtr& entry() const { return entry_; }
  const CapturedRegion& region() const { return entry_->region; }
  // Policy for executing the frame's instructions; programs may change it.
  const Policy* policy() const { return policy_; }
  void set_policy(const Policy* policy) { policy_ = policy; }

  // A legitimate reason why Python may reach another place: deferred I/O of the region may have raised.
  std::optional<Uncompared> excuse() const {
    return region().outputs.empty() ? std::nullopt : std::optional(Uncompared::output_raised);
  }

  bool is_at_stop() const { return left_ <= 0; }
  void count_step() { --left_; }
  // Whether the frame is at its expected position.
  bool stands_right(const LiveFrame& frame) const { return frame.index() == stop(); }
  // Whether this frame returns there to a suspended caller.
  bool returns_here() const { return returned_ < region().snapshot.returns.size(); }
  // Continues with the next frame, under this policy.
  void go_to_caller(const Policy* policy);
  // Whether the region ends in a function called by this frame at its stop.
  bool ends_inside() const { return !returns_here() && level_ + 1 < region().snapshot.frames.size(); }
  bool is_inside() const { return level_ > 0; }  // in a frame that was entered
  const FrameImage& inner_image() const { return held_.images[level_ + 1]; }
  // The function that Python calls for it; null if not found.
  BorrowedRef inner_function(const LiveFrame& caller) const;
  // Number of values on the stack below the operands of the call.
  int depth_at_stop(const LiveFrame& frame) const;
  void go_inside(const LiveFrame& inner);
  BorrowedRef continuation_value(size_t level) const { return held_.images[level].continuation_value; }
  // The counterpart of a value in the snapshot, or of the parts of a tuple.
  Ref python_value(BorrowedRef captured) const;

  // At the exit: the frames of the snapshot, outermost first, and the depth of each stack
  // below the operands of its call.
  struct Standing {
    LiveFrame* frame;
    int depth;
  };
  bool compare(std::span<const Standing> frames);
  // Raises CaptureMismatch: the difference found by compare(), or that Python did not reach the exit, and why.
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
  std::optional<RandomState> drawn_;
  std::vector<Start> starts_;  // the region's own frame and its suspended callers
  size_t returned_ = 0;        // number of frames that have returned
  size_t level_ = 0;           // index of the running frame among the snapshot's
  int64_t left_ = 0;           // instructions left to execute in it
};

}  // namespace md
