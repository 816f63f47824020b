// Applies an op to user-level arguments: casts by promotion, then the op, then requires_grad of the results.
#pragma once
#include <span>
#include <vector>

#include "tensor/ops/op_row.h"

namespace md {

// args: complete, in schema order; cast in place, by autocast first. For real, fake and recording tensors alike.
std::vector<Tensor> apply_op(const OpRow& row, std::span<Arg> args);
// The same without autocast: what is written to a tensor that the caller passed.
std::vector<Tensor> apply_as_given(const OpRow& row, std::span<Arg> args);

// The first result of the op with this name; trailing defaults are filled in.
Tensor apply_named(const char* op, std::vector<Arg> args);

// Fast path for pointwise ops without binding, promotion or shape rule: contiguous real tensors of one shape and dtype,
// or one and a number, that need no promotion, little work, every other parameter at its default. Returns an undefined
// tensor, without side effects, if apply_op is needed.
Tensor apply_fast_path(const OpRow& row, const Tensor& a);
Tensor apply_fast_path(const OpRow& row, const Tensor& a, const Tensor& b);
Tensor apply_fast_path(const OpRow& row, const Tensor& a, const Scalar& b);
Tensor apply_fast_path(const OpRow& row, const Scalar& a, const Tensor& b);

// Whether a result of this dtype requires grad if some input does, under this thread's grad mode.
bool result_requires_grad(const OpRow& row, bool some_input_does, DType dtype);

// Casts args to their final dtypes: the first step of apply_op, also applied by a capture to recording tensors.
void cast_args(const OpRow& row, std::span<Arg> args);

}  // namespace md
