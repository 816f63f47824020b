// Fast path of eager dispatch to a pointwise loop.
#pragma once
#include "tensor/ops/op_row.h"

namespace md {

// For calls with equal sizes and dtype, both contiguous, and work for one thread. Returns false, without effect, if
// run_op() is needed. out becomes a new tensor.
bool run_pointwise_fast(const OpRow& op, const Tensor& a, const Tensor& b, Tensor& out);
// Promotion must already have determined that the number leaves the tensor's dtype unchanged.
bool run_pointwise_fast(const OpRow& op, const Tensor& a, const Scalar& b, Tensor& out);
bool run_pointwise_fast(const OpRow& op, const Scalar& a, const Tensor& b, Tensor& out);
bool run_pointwise_fast(const OpRow& op, const Tensor& a, Tensor& out);

}  // namespace md
