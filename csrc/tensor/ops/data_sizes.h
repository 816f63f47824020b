// Ops whose result's size depends on data, as two ops that a graph can contain.
#pragma once
#include "tensor/ops/op_row.h"

namespace md {

struct DataSized {
  const OpRow* op;
  const OpRow* count;  // of the same operands: how many elements there are, a 0-d int64 tensor
  const OpRow* sized;  // the same results, of the operands and this number
};
// Null if the sizes of the op's results do not depend on data, or no graph can contain it.
const DataSized* data_sized(const OpRow& op);

}  // namespace md
