// A pointwise call whose operands are known.
#pragma once
#include "tensor/ops/op_row.h"
#include "tensor/simd/pointwise.h"

namespace md {

// A prepared pointwise call: single-element operands are read from `numbers`.
struct PointwiseCall {
  const OpRow& op;
  const PointwiseRow& row;
  int row_index;
  DType dtype;  // of the loop
  int operand_count = 0;
  const Tensor* tensors[3] = {};  // null: single element
  alignas(8) unsigned char numbers[3][16] = {};
  unsigned mask = 0;
  const Scalar* params = nullptr;
};

inline bool is_condition(const PointwiseCall& call, int operand) {
  return operand == 0 && call.row.result == PointwiseResult::Select;
}
inline DType operand_dtype(const PointwiseCall& call, int operand) {
  return is_condition(call, operand) ? DType::bool_ : call.dtype;
}

// In ns, as measured: memory traffic, and the cost of transcendental functions.
inline double cost_per_item(const PointwiseCall& call, double bytes_moved) {
  double computed = call.row.is_costly ? 0.12 * static_cast<double>(item_size(call.dtype)) : 0;
  return 0.03 * bytes_moved + computed;
}

// For operands and a result of any strides.
void run_by_tiles(const PointwiseCall& call, const Tensor& out);

}  // namespace md
