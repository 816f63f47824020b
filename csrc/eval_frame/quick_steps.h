// The most frequent instructions on plain objects, executed where step() would do more than they need.
#pragma once
#include "eval_frame/live_frame.h"
#include "symbolic/state/stretch.h"

namespace md {

// Executes the instruction at the frame's position if it can neither fail nor run other code, and moves on. Returns
// false, with nothing done, for any other: step() executes it.
bool step_quickly(LiveFrame& frame);
// As long as that does and the frame stays in the stretch; how many instructions.
int64_t step_quickly_in(LiveFrame& frame, const Stretch& stretch);
// Whether that may be so for some operands, or step() only moves values or control.
bool may_step_quickly(Opcode op);
// Whether step() only moves values or control with the present operands.
bool only_moves(const LiveFrame& frame);

}  // namespace md
