// Decides which instructions of a loop are fused into one piece of machine code.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "machine_code/executable_memory.h"
#include "machine_code/pointwise_code.h"

namespace md {

// Instructions begin to end of a loop, executed together by `code`, or one by one if it is null.
struct FusedSequence {
  size_t begin = 0, end = 0;
  PointwiseCode code = nullptr;
};

struct FusedSequences {
  std::vector<FusedSequence> runs;  // all instructions, in order; each one alone without code
  std::vector<RowLoop> row_loops;   // of all instructions; the requested ones that could be assembled
  int64_t vector_bytes = 0;         // vector length of the code
  std::shared_ptr<const ExecutableMemory> memory;
};

// Instructions marked in `is_alone` are never fused.
FusedSequences find_fused_sequences(std::span<const CodeInstruction> instructions, const std::vector<bool>& is_alone,
                                    std::span<const CodePlace> places, std::span<const CodeRows> rows);

}  // namespace md
