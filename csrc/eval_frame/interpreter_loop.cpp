#include "eval_frame/interpreter_loop.h"

#include "cpython/errors.h"
#include "eval_frame/lent_loop.h"
#include "eval_frame/unwinder.h"

#include <optional>

namespace md {

// xorshift64*: the same decisions for the same seed on every platform.
bool InterpreterLoop::decide(double rate) {
  if (rate <= 0) return false;
  random_ ^= random_ >> 12;
  random_ ^= random_ << 25;
  random_ ^= random_ >> 27;
  return static_cast<double>((random_ * 2685821657736338717ULL) >> 11) * 0x1p-53 < rate;
}

PyObject* InterpreterLoop::run(PyThreadState* ts, PvFrame* raw) {
  ++counters_.frames;
  std::optional<LiveFrame> frame;
  try {
    if (!pv_traced(ts, raw)) frame.emplace(ts, raw);
  } catch (...) {
    set_error_from_current_exception();
    PyErr_WriteUnraisable(reinterpret_cast<PyObject*>(pv_code(raw)));
  }
  if (!frame || !frame->enter()) {
    ++counters_.default_frames;
    return run_default(ts, raw);
  }
  if (PyErr_Occurred()) return leave_by_throw(*frame);
  return execute(*frame);
}

StepResult InterpreterLoop::step_or_lend(LiveFrame& frame, PyObject** result) {
  if (frame.instruction().op != Opcode::FOR_ITER || !decide(options_.lend_rate)) return step(frame);
  ++counters_.loops_lent;
  return step_loop(frame, result);
}

PyObject* InterpreterLoop::execute(LiveFrame& frame) {
  PyObject* result = nullptr;
  for (;;) {
    if (frame.instruction().resumable && decide(options_.hand_over_rate)) {
      ++counters_.random_hand_overs;
      return resume_in_interpreter(frame);
    }
    ++counters_.instructions;
    Opcode op = frame.instruction().op;
    StepResult done = step_or_lend(frame, &result);
    if (!frame.entered()) return result;
    frame.set_index(done.index);
    switch (done.outcome) {
      case Outcome::Next:
        break;
      case Outcome::Return:
        ++counters_.returns;
        return resume_in_interpreter(frame);
      case Outcome::Bailout:
        ++counters_.hand_overs[static_cast<int>(op)];
        return resume_in_interpreter(frame);
      case Outcome::Raised:
      case Outcome::Reraised:
        bool is_new = done.outcome == Outcome::Raised;
        if ((is_new && decide(options_.throw_rate)) || !unwind(frame, is_new)) {
          ++counters_.thrown;
          return leave_by_throw(frame);
        }
        ++counters_.unwound;
        break;
    }
  }
}

}  // namespace md
