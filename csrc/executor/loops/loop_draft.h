// A loop under construction: its instructions, their memory and machine code.
#pragma once
#include <utility>
#include <vector>

#include "executor/loops/fused_sequences.h"
#include "executor/loops/loop_op.h"
#include "executor/loops/loop_program.h"

namespace md {

struct DraftInstruction {
  LoopInstruction step;
  LoopOp op;
  unsigned once = 0;  // bit i: operand i is a scalar
};

// The tiles of a loop's scratch memory.
struct ScratchForm {
  std::vector<std::pair<int, int>> tiles = {};  // register and slot of an intermediate; slots are reused
  std::vector<int> singles = {};                // registers of single elements
  int slots = 0;
  int64_t largest_item = 1;
};

struct LoopDraft {
  LoopProgram program;  // its code is added last
  std::vector<DraftInstruction> code;
  std::vector<bool> is_temporary;  // by register: a result that is not a stream
  std::vector<CodePlace> places;   // by register, if any has no address of its own
  FusedSequences runs;
  ScratchForm scratch;

  // By register: the last instruction that reads it, -1 if there is none.
  std::vector<int> last_reads() const;
};

void find_runs(LoopDraft& draft);
// Allocates tiles for intermediates, reused once they are dead, and for copied streams.
// Returns false if they do not fit.
bool place_scratch(LoopDraft& draft, bool folds_rows);
// The same for given intermediates.
bool size_scratch(LoopProgram& program, const ScratchForm& form, bool folds_rows);
// Emits the program's code: one instruction per run.
void join_runs(LoopDraft& draft);

}  // namespace md
