// A loop while it is built: what each instruction does, and which memory and machine code it gets.
#pragma once
#include <vector>

#include "executor/loops/code_runs.h"
#include "executor/loops/loop_op.h"
#include "executor/loops/loop_program.h"

namespace md {

struct DraftInstruction {
  LoopInstruction step;
  LoopOp op;
  unsigned once = 0;  // operands that are read once: bits
};

struct LoopDraft {
  LoopProgram program;  // its code comes last
  std::vector<DraftInstruction> code;
  std::vector<bool> is_temporary;  // by register: a result that no stream is
  std::vector<CodePlace> places;   // by register, as far as any has no address of its own
  CodeRuns runs;

  // Last instruction that reads each register, -1: none.
  std::vector<int> last_reads() const;
};

void find_runs(LoopDraft& draft);
// Tiles for intermediates, used again once they are dead, and for streams that are copied. False: they do not fit.
bool place_scratch(LoopDraft& draft, bool folds_rows);
// The program's code: one instruction for each run.
void join_runs(LoopDraft& draft);

}  // namespace md
