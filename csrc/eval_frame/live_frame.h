// A real interpreter frame while this library executes it instead of the evaluator.
//   LiveFrame frame(ts, raw);              no effect yet, pv_default(ts, raw, 0) is still possible
//   if (!frame.enter()) return default;    prologue, recursion accounting, link: the frame is visible as running
//   ... get / put / push / pop, set_index, step(frame), unwind(frame) ...
//   return resume_in_interpreter(frame) or leave_by_throw(frame)      exactly one; the frame is gone afterwards
#pragma once
#include "bytecode/bytecode.h"
#include "cpython/frame.h"
#include "cpython/lent_loop.h"

namespace md {

class LiveFrame {
 public:
  // Throws PythonError or Error if the code cannot be decoded.
  LiveFrame(PyThreadState* ts, PvFrame* frame);
  LiveFrame(const LiveFrame&) = delete;
  LiveFrame& operator=(const LiveFrame&) = delete;

  // Returns false, without effect, if the stack is exhausted: let the evaluator run the frame and raise.
  bool enter();
  bool entered() const { return entered_; }

  PyThreadState* thread() const { return ts_; }
  PvFrame* raw() const { return frame_; }
  const Bytecode& bytecode() const { return *bytecode_; }
  BorrowedRef function() const { return pv_func(frame_); }
  BorrowedRef globals() const { return pv_globals(frame_); }
  BorrowedRef builtins() const { return pv_builtins(frame_); }
  BorrowedRef locals_mapping() const { return pv_locals_mapping(frame_); }

  // The next instruction to execute.
  int index() const { return index_; }
  void set_index(int index) { index_ = index; }
  const Instruction& instruction() const { return (*bytecode_)[index_]; }
  // The unit shown by line numbers, tracebacks and f_lasti.
  int current_unit() const { return current_unit_; }
  void set_current_unit(int unit) {
    current_unit_ = unit;
    pv_set_current(frame_, unit);
  }

  // Slots of localsplus; null if unset. Slots of cells hold the cell object.
  BorrowedRef get(int slot) const { return kPlainSlots ? slots_[slot] : pv_get(frame_, slot); }
  // Drops the old value after storing the new one.
  void put(int slot, Ref value) {
    Ref old = Ref::steal(get(slot));
    set(slot, value.release());
  }

  int depth() const { return depth_; }
  void push(Ref value) { set(slot_count_ + depth_++, value.release()); }
  Ref pop() { return Ref::steal(get(slot_count_ + --depth_)); }
  // 1 is the top.
  BorrowedRef peek(int distance) const { return get(slot_count_ + depth_ - distance); }
  // The same value and those above it, which may be passed as arguments of a call; null where slots are no pointers.
  PyObject** place_of(int distance) const { return kPlainSlots ? slots_ + slot_count_ + depth_ - distance : nullptr; }
  void poke(int distance, Ref value) { put(slot_count_ + depth_ - distance, std::move(value)); }
  void drop(int count) {
    while (count-- > 0) pop();
  }
  void drop_to(int depth) { drop(depth_ - depth); }

  // At a resumable FOR_ITER: lends its loop to the evaluator. EXHAUSTED and LEFT: the frame is at the instruction after
  // the loop. RAISED: the exception is to be unwound as from the FOR_ITER. ENDED: the frame is gone, entered() is
  // false.
  PvLoopEnd lend_loop(PyObject** result);

  // For the functions that leave the frame; it must not be used afterwards.
  void mark_left() { entered_ = false; }

 private:
  static constexpr bool kPlainSlots = PY_VERSION_HEX < 0x030E0000;  // pv_slots() is not null

  bool run_prologue();
  void link();
  void set(int slot, PyObject* stolen) {
    if (kPlainSlots)
      slots_[slot] = stolen;
    else
      pv_put(frame_, slot, stolen);
  }

  PyThreadState* ts_;
  PvFrame* frame_;
  const Bytecode* bytecode_;
  int slot_count_;
  int depth_;
  int index_ = 0;
  int current_unit_ = 0;
  bool entered_ = false;
  PyObject** slots_;
};

// Gives the rest of the frame to the evaluator at frame.index(), also to return, yield or reraise there. If the
// evaluator cannot be entered there, first executes up to the next instruction where it can.
PyObject* resume_in_interpreter(LiveFrame& frame);

// Lets the evaluator raise the current exception at frame.index(): it finds the handler or leaves the frame, and adds
// the traceback entry. Returns the frame's result.
PyObject* leave_by_throw(LiveFrame& frame);

}  // namespace md
