// The iteration order of a loop, and the access of each stream in that order.
#pragma once
#include <span>
#include <vector>

#include "executor/loops/loop_program.h"

namespace md {

// The extents of a loop over these sizes. The elements of the last dim are steps of an unrolled loop.
std::vector<int64_t> loop_extents(const DimVec& sizes, bool is_unrolled);

// Sets sizes, rows and row length, and strides and access of each stream. Strides are given by dimension of `sizes`;
// dimensions are sorted by the memory order of the first result and merged where every stream permits. folds_rows:
// the last dimension stays the row.
void choose_iteration(LoopProgram& program, const std::vector<int64_t>& sizes, bool folds_rows);

// The same for a loop with indexed rows: the first `lead` of `sizes` enumerate the rows, the others are within a row,
// and the order is kept. A Chosen stream has the strides of consecutive rows, and its row stride is in `row_strides`,
// by choice. Returns false if a stream would have to be copied.
bool choose_row_iteration(LoopProgram& program, const std::vector<int64_t>& sizes, int lead, bool folds_rows,
                          std::span<const int64_t> row_strides);

// Inputs that are copied for each row although every row reads the same elements are copied once per run.
void pack_inputs(LoopProgram& program);

}  // namespace md
