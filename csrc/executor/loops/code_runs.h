// Which instructions of a loop are machine code together.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "machine_code/executable_memory.h"
#include "machine_code/pointwise_code.h"

namespace md {

// Instructions begin to end of a loop, done at once by `code` or one by one.
struct CodeRun {
  size_t begin = 0, end = 0;
  PointwiseCode code = nullptr;
};

struct CodeRuns {
  std::vector<CodeRun> runs;       // all instructions, in order; without code each for itself
  std::vector<RowLoop> row_loops;  // of all instructions; those of what was asked for that there are
  int64_t vector_bytes = 0;        // of the code
  std::shared_ptr<const ExecutableMemory> memory;
};

// Instructions that `is_alone` names are never part of a run.
CodeRuns find_code_runs(std::span<const CodeInstruction> instructions, const std::vector<bool>& is_alone,
                        std::span<const CodePlace> places, std::span<const CodeRows> rows);

}  // namespace md
