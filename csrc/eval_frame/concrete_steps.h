// One function per opcode, and shared helpers. Private to the concrete_*.cpp files.
#pragma once
#include "eval_frame/concrete.h"

namespace md {

#define MD_OPCODE(name, pops, pushes, traits) StepResult step_##name(LiveFrame& f, const Instruction& i);
#include "bytecode/opcodes.def"
#undef MD_OPCODE

inline StepResult next(LiveFrame& f) { return {Outcome::Next, f.index() + 1}; }
inline StepResult raised(LiveFrame& f) { return {Outcome::Raised, f.index()}; }
// Before any side effect: the evaluator executes this instruction, or raises.
inline StepResult evaluator(LiveFrame& f) { return {Outcome::Bailout, f.index(), Bailout::interpreters_error}; }
// The frame ends here: the evaluator executes the last instruction.
inline StepResult ends(LiveFrame& f) { return {Outcome::Return, f.index()}; }
inline StepResult next_if(LiveFrame& f, bool succeeded) { return succeeded ? next(f) : raised(f); }

// Replaces the `operands` top values by a result (new reference); null: an exception is set.
inline StepResult finish(LiveFrame& f, int operands, PyObject* result) {
  if (result == nullptr) return raised(f);
  Ref owned = Ref::steal(result);
  if (operands == 0) {
    f.push(std::move(owned));
  } else {
    f.drop(operands - 1);
    f.poke(1, std::move(owned));
  }
  return next(f);
}
// The same for operations without a result; status < 0: an exception is set.
inline StepResult finish_status(LiveFrame& f, int operands, int status) {
  if (status < 0) return raised(f);
  f.drop(operands);
  return next(f);
}

// Handles signals and GIL requests where the evaluator checks its eval breaker; continues at `index`. What
// only the evaluator can handle is handled at `unserved`: the instruction itself if it has had no effect yet,
// so nothing happens in between.
inline StepResult next_after_pending(LiveFrame& f, int index, int unserved) {
  int status = pv_handle_pending(f.thread());
  if (status == 0) return {Outcome::Next, index};
  if (status < 0) return raised(f);
  return {Outcome::Bailout, unserved, Bailout::pending_call};
}
inline StepResult next_after_pending(LiveFrame& f, int index) { return next_after_pending(f, index, index); }

// NameError and UnboundLocalError as raised by the evaluator.
StepResult raise_name_error(LiveFrame& f, BorrowedRef name);
StepResult raise_unbound(LiveFrame& f, int slot);

}  // namespace md
