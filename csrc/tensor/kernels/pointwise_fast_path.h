// Eager dispatch's short way to a pointwise loop.
#pragma once
#include "tensor/ops/op_row.h"

namespace md {

// Eager dispatch of the plainest call: same sizes, both contiguous, same dtype, one thread's worth of work.
// False: nothing was done, take run_op. out becomes a new tensor.
bool run_pointwise_fast(const OpRow& op, const Tensor& a, const Tensor& b, Tensor& out);
// The number is already known to leave the dtype of the tensor as it is (promotion says so).
bool run_pointwise_fast(const OpRow& op, const Tensor& a, const Scalar& b, Tensor& out);
bool run_pointwise_fast(const OpRow& op, const Scalar& a, const Tensor& b, Tensor& out);
bool run_pointwise_fast(const OpRow& op, const Tensor& a, Tensor& out);

}  // namespace md
