#include "eval_frame/lent_loop.h"

#include "eval_frame/counters.h"
#include "eval_frame/driver.h"
#include "eval_frame/region_lookup.h"

namespace md {

namespace {

bool has_loop(const Stretch& stretch, const Bytecode& code, int header) {
  std::optional<Stretch> loop = innermost_loop(code, header);
  return loop && loop->first == header && stretch.contains(loop->first) && stretch.contains(loop->last);
}

}  // namespace

StepResult step_loop(LiveFrame& frame, PyObject** result) {
  PvLoopEnd end = frame.instruction().resumable ? frame.lend_loop(result) : PV_LOOP_KEPT;
  if (end == PV_LOOP_KEPT) return step(frame);
  ++counters().loops_lent;
  return {end == PV_LOOP_RAISED ? Outcome::Reraised : Outcome::Next, frame.index()};
}

StepResult FrameDriver::step_or_lend() {
  const int index = frame_.index();
  if (frame_.instruction().op != Opcode::FOR_ITER) return step(frame_);
  if (index != lent_header_ && !has_loop(stretch_, frame_.bytecode(), index)) return step(frame_);
  lent_header_ = index;
  return step_loop(frame_, &result_);
}

}  // namespace md
