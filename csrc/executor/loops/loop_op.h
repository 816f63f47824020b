// A graph's node as the loops see it: which row of pointwise.def, a cast, or a fold of rows, and on what.
#pragma once
#include <optional>

#include "executor/loops/row_folds.h"
#include "graph/value_info.h"
#include "tensor/simd/loops.h"

namespace md {

struct LoopOp {
  int row = -1;      // of pointwise.def, -1: a cast
  DType dtype = {};  // of the operands; of the source of a cast
  DType result = {};
  int operand_count = 0;
  const Operand* operands[3] = {};
  const Scalar* param = nullptr;
  const OpRow* op = nullptr;  // whose loop it is: names it where a number does not fit
  bool is_costly = false;
  RowFoldCall fold = {};   // of a row, instead
  bool is_single = false;  // one element for each row
};

// Nothing when no loop does what the node does.
std::optional<LoopOp> as_loop_op(const Node& node);
// A reduction over the last dim, for a loop that folds rows.
std::optional<LoopOp> as_fold(const Node& node);

// x where the node is x * x, of floats; otherwise null.
const Operand* squared_operand(const Node& node);

bool is_tensor(const Operand& operand);
bool is_number(const Operand& operand);
// Bits of the operands that are numbers.
unsigned number_mask(const LoopOp& op);

}  // namespace md
