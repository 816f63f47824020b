// The evaluator's `error:` path: traceback entry, exception table, stack.
#pragma once
#include "eval_frame/live_frame.h"

namespace md {

// Call after an instruction raised. Returns true if a handler in this frame catches the exception, which is then on the
// stack, with frame.index() at the handler. Returns false, without effect, if leave_by_throw(frame) must follow; also
// while tracing. adds_entry is false for an exception that is only propagated (RERAISE).
bool unwind(LiveFrame& frame, bool adds_entry);

// The unit at which pv_eval_throw raises as if at `unit`, -1 if there is none.
int throw_unit(const Bytecode& bytecode, int index, int unit);

// Leaves the frame with the current exception if no handler covers it and throw_unit() has no result.
PyObject* leave_by_hand(LiveFrame& frame);

}  // namespace md
