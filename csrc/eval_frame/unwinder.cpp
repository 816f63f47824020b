#include "eval_frame/unwinder.h"

#include "base/error.h"
#include "cpython/errors.h"

namespace md {
namespace {

void add_traceback_entry(LiveFrame& frame) {
  Ref frame_object = Ref::steal(reinterpret_cast<PyObject*>(PyThreadState_GetFrame(frame.thread())));
  if (frame_object) PyTraceBack_Here(reinterpret_cast<PyFrameObject*>(frame_object.get()));
}

bool same_handler(const ExceptionHandler& a, const ExceptionHandler& b) {
  return a.target == b.target && a.depth == b.depth && a.push_lasti == b.push_lasti;
}

// The handler in the evaluator's table for a code unit, caches included.
ExceptionHandler handler_of_unit(const Bytecode& bytecode, int index, int unit) {
  while (index > 0 && bytecode[index].unit > unit) --index;
  return bytecode.handler_at(index);
}

}  // namespace

bool unwind(LiveFrame& frame, bool adds_entry) {
  ExceptionHandler handler = frame.bytecode().handler_at(frame.index());
  if (handler.target < 0 || pv_traced(frame.thread(), frame.raw())) return false;
  if (adds_entry) add_traceback_entry(frame);
  frame.drop_to(handler.depth);
  if (handler.push_lasti) {
    PyObject* lasti = pv_position(frame.current_unit());
    // As in the evaluator: a failure here replaces the exception, at the handler's own level.
    if (lasti == nullptr) return unwind(frame, false);
    frame.push(Ref::steal(lasti));
  }
  frame.push(take_raised());
  frame.set_index(handler.target);
  return true;
}

// Since 3.13 the handler is looked up one unit before the position shown in tracebacks.
int throw_unit(const Bytecode& bytecode, int index, int unit) {
  if (PY_VERSION_HEX < 0x030D0000) return unit;
  const Instruction& i = bytecode[index];
  ExceptionHandler wanted = bytecode.handler_at(index);
  if (unit > 0 && same_handler(handler_of_unit(bytecode, index, unit - 1), wanted)) return unit;
  // An inline cache of the same instruction has the same line and column.
  if (unit == i.lasti && i.next_unit > unit + 1) return unit + 1;
  return -1;
}

PyObject* leave_by_hand(LiveFrame& frame) {
  ExceptionHandler handler = frame.bytecode().handler_at(frame.index());
  if (handler.target >= 0) {
    // Only while tracing: the handler is entered as in unwind(), the evaluator continues from it.
    add_traceback_entry(frame);
    frame.drop_to(handler.depth);
    if (handler.push_lasti) frame.push(check(pv_position(frame.current_unit())));
    frame.push(take_raised());
    return pv_eval_rest(frame.thread(), frame.raw(), frame.bytecode()[handler.target].unit, frame.depth());
  }
  add_traceback_entry(frame);
  frame.drop_to(0);
  int left = pv_leave_raised(frame.thread(), frame.raw());
  MD_ASSERT(left, "throw_unit failed on a version that clears frames in the evaluator only");
  return nullptr;
}

}  // namespace md
