// Executes one neutral instruction of a live frame, with exactly the evaluator's semantics.
#pragma once
#include "eval_frame/bailout.h"
#include "eval_frame/live_frame.h"

namespace md {

enum class Outcome : uint8_t {
  Next,      // continue at index
  Return,    // the frame ends or is suspended at index: give it to the evaluator here (nothing was executed)
  Bailout,   // only the evaluator can continue, at index
  Raised,    // a Python exception is set, raised at index
  Reraised,  // the same, and this frame is in the traceback already
};

struct StepResult {
  Outcome outcome;
  int index;
  Bailout reason = Bailout::opcode;  // Bailout
};

// Executes frame.instruction(). The caller sets frame.index(); operands that were not consumed stay on the stack.
// Checks for tracing afterwards: Bailout if a tracer or monitor has become active.
StepResult step(LiveFrame& frame);

// Whether step() can execute the opcode, or always bails out.
bool has_concrete_handler(Opcode op);

}  // namespace md
