// In which order a loop takes its elements, and how each stream is reached in that order.
#pragma once
#include <span>
#include <vector>

#include "executor/loops/loop_program.h"

namespace md {

// Sets sizes, rows and row length, and of each stream strides and access. Strides come by dimension of `sizes`: dimensions
// are put in the order of the first result's memory and merged where every stream allows. folds_rows: the last dimension
// stays the row.
void choose_iteration(LoopProgram& program, const std::vector<int64_t>& sizes, bool folds_rows);

// The same for a loop that chooses rows: of `sizes` the first `lead` are the rows, the others what is in a row, and each
// stays in its order. A Chosen stream comes with the strides of its rows one after another and the row's in `row_strides`,
// by choice. False: no stream may be copied, but one would be.
bool choose_row_iteration(LoopProgram& program, const std::vector<int64_t>& sizes, int lead, bool folds_rows,
                          std::span<const int64_t> row_strides);

// Inputs that are copied for each row, though every row reads the same elements, are copied once for each run.
void pack_inputs(LoopProgram& program);

}  // namespace md
