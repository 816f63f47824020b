// Compiles a group of pointwise nodes, possibly with row reductions, into a loop that runs in one pass over memory: how
// each memory stream is accessed, the iteration order, and the register allocation.
#pragma once
#include "executor/loops/loop_form.h"
#include "executor/loops/loop_program.h"
#include "executor/lowering.h"

namespace md {

// A group compiled to a loop for some step. If impossible, ok is false and the note in `lowered` holds the reason.
struct BuiltLoop {
  bool ok = false;
  LoopProgram program;
  LoweredStep lowered;    // without its step
  std::string names;      // "fused loop mul, add -> add_1"
  std::string form_text;  // ", rows of 3 element by element", or empty
  LoopFormPtr form;       // null: it keeps its sizes
  Work work;
};
// Operands that may be overwritten share memory with a result; the value `overwritten` is preferred.
BuiltLoop build_loop(const Group& group, LoweringContext& context, int overwritten = -1);

}  // namespace md
