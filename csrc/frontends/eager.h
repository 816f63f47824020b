// Applies an op to arguments as a user gives them: casts by promotion, then the op, then requires_grad of the results.
#pragma once
#include <span>
#include <vector>

#include "tensor/ops/op_row.h"

namespace md {

// args complete, in schema order; cast in place. Real, fake and recording tensors alike.
std::vector<Tensor> apply_op(const OpRow& row, std::span<Arg> args);

// The first result of the op of this name; trailing defaults are filled in.
Tensor apply_named(const char* op, std::vector<Arg> args);

// The plainest calls of a pointwise op, without binding, promotion or shape rule: contiguous real tensors of one shape and
// dtype, or one and a number, that promotion leaves as they are, little work, every other parameter at its default.
// Undefined: nothing was done, it is a case for apply_op.
Tensor apply_plainly(const OpRow& row, const Tensor& a);
Tensor apply_plainly(const OpRow& row, const Tensor& a, const Tensor& b);
Tensor apply_plainly(const OpRow& row, const Tensor& a, const Scalar& b);
Tensor apply_plainly(const OpRow& row, const Scalar& a, const Tensor& b);

// Whether a result of this dtype requires grad when some input does; asks this thread's grad mode.
bool result_requires_grad(const OpRow& row, bool some_input_does, DType dtype);

// Rewrites args so that their dtypes are final: what apply_op does first, and what a capture does with recording tensors.
void cast_args(const OpRow& row, std::span<Arg> args);

}  // namespace md
