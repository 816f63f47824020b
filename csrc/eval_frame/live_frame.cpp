#include "eval_frame/live_frame.h"

#include "base/error.h"
#include "eval_frame/concrete.h"
#include "eval_frame/unwinder.h"

namespace md {

LiveFrame::LiveFrame(PyThreadState* ts, PvFrame* frame)
    : ts_(ts),
      frame_(frame),
      bytecode_(Bytecode::of(pv_code(frame))),
      slot_count_(bytecode_->slot_count()),
      depth_(pv_depth(frame)),
      slots_(pv_slots(frame)) {
  index_ = bytecode_->index_of_unit(pv_next(frame));
  MD_ASSERT(index_ >= 0, "frame stands at unit ", pv_next(frame));
}

bool LiveFrame::enter() {
  if (pv_enter(ts_) < 0) return false;
  bool ready = run_prologue();
  // Before RESUME a frame is invisible, so the position is set before the link.
  set_current_unit(instruction().lasti);
  link();
  entered_ = true;
  if (!ready) PyErr_NoMemory();
  return true;
}

void LiveFrame::link() {
  pv_link(ts_, frame_);
  pv_hide_stack(frame_);
}

PvLoopEnd LiveFrame::lend_loop(PyObject** result) {
  // A generator could be suspended in the loop.
  if (pv_is_generator(frame_) != 0) return PV_LOOP_KEPT;
  PvLoop loop{instruction().unit, depth_, bytecode_->handler_at(index_).target >= 0};
  PvLoopEnd end = pv_lend_loop(ts_, frame_, &loop, result);
  if (end == PV_LOOP_KEPT) return end;
  if (end == PV_FRAME_ENDED) {
    mark_left();
    return end;
  }
  if (end == PV_LOOP_RAISED) --depth_;
  if (end == PV_LOOP_LEFT) {
    index_ = bytecode_->index_of_unit(loop.unit) + 1;
    depth_ = bytecode_->depth_at(index_);
  }
  current_unit_ = loop.unit;
  pv_set_depth(frame_, depth_);
  link();
  if (end == PV_LOOP_EXHAUSTED) {
    pop();
    index_ = instruction().arg;
  }
  return end;
}

// Creates the cells here: a frame linked before RESUME would be hidden. The evaluator must not repeat it.
bool LiveFrame::run_prologue() {
  for (;; ++index_) {
    const Instruction& i = instruction();
    if (i.op == Opcode::MAKE_CELL) {
      PyObject* cell = PyCell_New(get(i.arg));
      if (cell == nullptr) return false;
      put(i.arg, Ref::steal(cell));
    } else if (i.op == Opcode::COPY_FREE_VARS) {
      PyObject* closure = reinterpret_cast<PyFunctionObject*>(pv_func(frame_))->func_closure;
      for (int k = 0; k < i.arg; ++k) put(slot_count_ - i.arg + k, Ref::share(PyTuple_GET_ITEM(closure, k)));
    } else {
      return true;
    }
  }
}

PyObject* resume_in_interpreter(LiveFrame& frame) {
  while (!frame.instruction().resumable) {
    StepResult result = step(frame);
    frame.set_index(result.index);
    if (result.outcome == Outcome::Raised) return leave_by_throw(frame);
  }
  frame.mark_left();
  return pv_eval_rest(frame.thread(), frame.raw(), frame.instruction().unit, frame.depth());
}

PyObject* leave_by_throw(LiveFrame& frame) {
  int unit = throw_unit(frame.bytecode(), frame.index(), frame.current_unit());
  frame.mark_left();
  if (unit >= 0) return pv_eval_throw(frame.thread(), frame.raw(), unit, frame.depth());
  return leave_by_hand(frame);
}

}  // namespace md
