// What the evaluator does after `error:`: traceback entry, exception table, stack.
#pragma once
#include "eval_frame/live_frame.h"

namespace md {

// After an instruction raised: true when a handler in this frame took the exception, which is then on the stack, and
// frame.index() is the handler. False: nothing was done, leave_by_throw(frame) is to follow; also while tracing.
// adds_entry is false for an exception that is only passed on (RERAISE).
bool unwind(LiveFrame& frame, bool adds_entry);

// The unit at which pv_eval_throw raises as if at `unit`, -1 if the evaluator cannot be made to.
int throw_unit(const Bytecode& bytecode, int index, int unit);

// Leaves the frame with the exception that is set, where no handler covers it and throw_unit has no answer.
PyObject* leave_by_hand(LiveFrame& frame);

}  // namespace md
