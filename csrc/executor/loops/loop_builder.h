// From a group of pointwise nodes, with reductions of rows among them or not, to the loop that runs them in one pass over
// memory: which stream of memory is reached how, in which order, and which register holds what.
#pragma once
#include "executor/loops/loop_program.h"
#include "executor/lowering.h"

namespace md {

// A group as a loop that some step runs. Where it cannot be one, the note in `lowered` says why and ok is false.
struct BuiltLoop {
  bool ok = false;
  LoopProgram program;
  LoweredStep lowered;  // without its step
  std::string names;    // "fused loop mul, add -> add_1"
  Work work;
};
// An operand whose value is `overwritten` is the first that a result is laid over, if it can be.
BuiltLoop build_loop(const Group& group, LoweringContext& context, int overwritten = -1);

}  // namespace md
