// A graph node in the form used by loops: a row of pointwise.def, a cast, or a row reduction, and its operands.
#pragma once
#include <array>
#include <optional>

#include "executor/loops/row_reductions.h"
#include "graph/value_info.h"
#include "tensor/simd/loops.h"

namespace md {

struct LoopOp {
  int row = -1;      // of pointwise.def, -1: a cast
  DType dtype = {};  // of the operands; for a cast of the source
  DType result = {};
  int operand_count = 0;
  const Operand* operands[3] = {};
  int param_count = 0;
  std::array<Scalar, kMaxPointwiseParams> params = {};
  const OpRow* op = nullptr;  // reported when a number does not fit
  bool is_costly = false;
  RowReductionCall fold = {};  // row reduction, instead
  bool is_single = false;      // one element per row
};

// nullopt if no loop implements the node.
std::optional<LoopOp> as_loop_op(const Node& node);
// A reduction over the last dim, for a loop that reduces rows.
std::optional<LoopOp> as_fold(const Node& node);

// x if the node is x * x of floats, else null.
const Operand* squared_operand(const Node& node);

bool is_tensor(const Operand& operand);
bool is_number(const Operand& operand);
// Bit mask of the operands that are numbers.
unsigned number_mask(const LoopOp& op);

}  // namespace md
