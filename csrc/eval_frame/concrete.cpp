// The table of concrete handlers, and those of operators, jumps and the stack.
#include "eval_frame/concrete.h"

#include "bytecode/binary_operators.h"
#include "cpython/errors.h"
#include "eval_frame/concrete_steps.h"
#include "eval_frame/evaluator_operator.h"

namespace md {

// Instructions that only the evaluator executes; all others have a handler in a concrete_*.cpp file.
// These end or suspend the frame, here or at the next instruction.
#define MD_RETURNS(X) X(RETURN_VALUE) X(RETURN_CONST) X(YIELD_VALUE) X(RETURN_GENERATOR) X(ASYNC_GEN_WRAP)
// exception groups, module-level and generic-class machinery
#define MD_HANDED_OVER(X) \
  X(CHECK_EG_MATCH)       \
  X(PREP_RERAISE_STAR)    \
  X(IMPORT_STAR)          \
  X(PRINT_EXPR)           \
  X(CALL_INTRINSIC)       \
  X(MAKE_CELL)            \
  X(COPY_FREE_VARS)       \
  X(UNKNOWN)

#define MD_STEP(name) \
  StepResult step_##name(LiveFrame& f, const Instruction&) { return ends(f); }
MD_RETURNS(MD_STEP)
#undef MD_STEP
#define MD_STEP(name) \
  StepResult step_##name(LiveFrame& f, const Instruction&) { return {Outcome::Bailout, f.index(), Bailout::opcode}; }
MD_HANDED_OVER(MD_STEP)
#undef MD_STEP

namespace {

using Step = StepResult (*)(LiveFrame&, const Instruction&);
constexpr Step kSteps[] = {
#define MD_OPCODE(name, pops, pushes, traits) step_##name,
#include "bytecode/opcodes.def"
#undef MD_OPCODE
};

constexpr Opcode kWithoutHandler[] = {
#define MD_STEP(name) Opcode::name,
    MD_RETURNS(MD_STEP) MD_HANDED_OVER(MD_STEP)
#undef MD_STEP
};

}  // namespace

bool has_concrete_handler(Opcode op) {
  for (Opcode other : kWithoutHandler) {
    if (op == other) return false;
  }
  return true;
}

StepResult step(LiveFrame& frame) {
  const Instruction& i = frame.instruction();
  frame.set_current_unit(i.lasti);
  StepResult result = kSteps[static_cast<int>(i.op)](frame, i);
  if (result.outcome == Outcome::Next && pv_traced(frame.thread(), frame.raw()))
    return {Outcome::Bailout, result.index, Bailout::traced};
  return result;
}

// ---- stack

StepResult step_NOP(LiveFrame& f, const Instruction&) { return next(f); }
StepResult step_POP_TOP(LiveFrame& f, const Instruction&) {
  f.pop();
  return next(f);
}
StepResult step_PUSH_NULL(LiveFrame& f, const Instruction&) {
  f.push(nullptr);
  return next(f);
}
StepResult step_COPY(LiveFrame& f, const Instruction& i) {
  f.push(Ref::share(f.peek(i.arg)));
  return next(f);
}
StepResult step_SWAP(LiveFrame& f, const Instruction& i) {
  Ref top = f.pop();
  Ref other = Ref::share(f.peek(i.arg - 1));
  f.poke(i.arg - 1, std::move(top));
  f.push(std::move(other));
  return next(f);
}
StepResult step_LOAD_CONST(LiveFrame& f, const Instruction& i) {
  f.push(Ref::share(f.bytecode().constant(i.arg)));
  return next(f);
}
StepResult step_END_FOR(LiveFrame& f, const Instruction& i) {
  f.drop(i.arg);
  return next(f);
}
StepResult step_RESUME(LiveFrame& f, const Instruction& i) {
  // Not after `yield from` and `await`: the innermost generator handles pending work.
  return i.arg < 2 ? next_after_pending(f, f.index() + 1, f.index()) : next(f);
}

// ---- operators

StepResult step_UNARY_POSITIVE(LiveFrame& f, const Instruction&) { return finish(f, 1, PyNumber_Positive(f.peek(1))); }
StepResult step_UNARY_NEGATIVE(LiveFrame& f, const Instruction&) { return finish(f, 1, PyNumber_Negative(f.peek(1))); }
StepResult step_UNARY_INVERT(LiveFrame& f, const Instruction&) { return finish(f, 1, PyNumber_Invert(f.peek(1))); }

namespace {

StepResult finish_bool(LiveFrame& f, int operands, int truth) {
  return finish(f, operands, truth < 0 ? nullptr : PyBool_FromLong(truth));
}

}  // namespace

StepResult step_UNARY_NOT(LiveFrame& f, const Instruction&) {
  int truth = PyObject_IsTrue(f.peek(1));
  return finish_bool(f, 1, truth < 0 ? truth : !truth);
}
StepResult step_TO_BOOL(LiveFrame& f, const Instruction&) { return finish_bool(f, 1, PyObject_IsTrue(f.peek(1))); }

namespace {

// The operands leave the stack: nothing else may reference them.
StepResult apply_to_temporary(LiveFrame& f, int operator_arg) {
  Ref right = f.pop(), left = f.pop();
  Ref result;
  try {
    result = apply_in_evaluator(f.thread(), operator_arg, std::move(left), std::move(right));
  } catch (...) {
    set_error_from_current_exception();
  }
  if (!result) return raised(f);
  f.push(std::move(result));
  return next(f);
}

}  // namespace

StepResult step_BINARY_OP(LiveFrame& f, const Instruction& i) {
  if (!is_known_binary(i.arg)) return evaluator(f);
  if (may_reuse_operand(i.arg, f.peek(2), f.peek(1))) return apply_to_temporary(f, i.arg);
  return finish(f, 2, apply_binary(i.arg, f.peek(2), f.peek(1)));
}
StepResult step_COMPARE_OP(LiveFrame& f, const Instruction& i) {
  Ref result = Ref::steal(PyObject_RichCompare(f.peek(2), f.peek(1), i.arg));
  if (!result) return raised(f);
  if (i.arg2) return finish_bool(f, 2, PyObject_IsTrue(result));
  return finish(f, 2, result.release());
}
StepResult step_IS_OP(LiveFrame& f, const Instruction& i) {
  return finish_bool(f, 2, (f.peek(2).get() == f.peek(1).get()) != (i.arg != 0));
}
StepResult step_CONTAINS_OP(LiveFrame& f, const Instruction& i) {
  int found = PySequence_Contains(f.peek(1), f.peek(2));
  return finish_bool(f, 2, found < 0 ? found : found != i.arg);
}

// ---- jumps

StepResult step_JUMP(LiveFrame&, const Instruction& i) { return {Outcome::Next, i.arg}; }
StepResult step_JUMP_BACKWARD(LiveFrame& f, const Instruction& i) {
  return i.arg2 ? StepResult{Outcome::Next, i.arg} : next_after_pending(f, i.arg, f.index());
}

namespace {

// Pops the value. A conditional backward jump (3.11) is an ordinary back edge.
StepResult pop_and_branch(LiveFrame& f, const Instruction& i, int taken) {
  if (taken < 0) return raised(f);
  f.pop();
  if (!taken) return next(f);
  return i.arg <= f.index() ? next_after_pending(f, i.arg) : StepResult{Outcome::Next, i.arg};
}

int truth_of(LiveFrame& f) {
  PyObject* value = f.peek(1);
  if (value == Py_True) return 1;
  if (value == Py_False) return 0;
  return PyObject_IsTrue(value);
}

int negated(int truth) { return truth < 0 ? truth : !truth; }

StepResult jump_or_pop(LiveFrame& f, const Instruction& i, int taken) {
  if (taken < 0) return raised(f);
  if (taken) return {Outcome::Next, i.arg};
  f.pop();
  return next(f);
}

}  // namespace

StepResult step_POP_JUMP_IF_TRUE(LiveFrame& f, const Instruction& i) { return pop_and_branch(f, i, truth_of(f)); }
StepResult step_POP_JUMP_IF_FALSE(LiveFrame& f, const Instruction& i) {
  return pop_and_branch(f, i, negated(truth_of(f)));
}
StepResult step_POP_JUMP_IF_NONE(LiveFrame& f, const Instruction& i) {
  return pop_and_branch(f, i, f.peek(1).get() == Py_None);
}
StepResult step_POP_JUMP_IF_NOT_NONE(LiveFrame& f, const Instruction& i) {
  return pop_and_branch(f, i, f.peek(1).get() != Py_None);
}
StepResult step_JUMP_IF_TRUE_OR_POP(LiveFrame& f, const Instruction& i) { return jump_or_pop(f, i, truth_of(f)); }
StepResult step_JUMP_IF_FALSE_OR_POP(LiveFrame& f, const Instruction& i) {
  return jump_or_pop(f, i, negated(truth_of(f)));
}

}  // namespace md
