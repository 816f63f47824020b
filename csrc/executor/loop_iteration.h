// In which order a loop takes its elements, and how each stream is reached in that order.
#pragma once
#include <vector>

#include "executor/loop_program.h"

namespace md {

// Sets sizes, rows and row length, and of each stream strides and access. Strides come by dimension of `sizes`: dimensions
// are put in the order of the first result's memory and merged where every stream allows. folds_rows: the last dimension
// stays the row.
void choose_iteration(LoopProgram& program, const std::vector<int64_t>& sizes, bool folds_rows);

// Inputs that are copied for each row, though every row reads the same elements, are copied once for each run.
void pack_inputs(LoopProgram& program);

}  // namespace md
