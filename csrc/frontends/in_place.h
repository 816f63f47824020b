// In-place and out= variants of the ops, on user-level arguments.
#pragma once
#include <span>

#include "tensor/ops/op_row.h"

namespace md {

// "add_" for "add".
std::string in_place_name(const OpRow& row);

// x.f_(...): args[0] is the tensor written to. args: complete, in schema order; cast in place. Throws Error(Runtime) if
// the result does not fit argument 0, or if that cannot be written to.
void apply_in_place(const OpRow& row, std::span<Arg> args);

// Pointwise results are cast down to the dtype of out=, others must have it. Throws Error(Runtime) otherwise.
void check_out_dtype(const OpRow& row, DType result, DType target);

// f(..., out=t), one target per result. A target of other sizes is resized; unless it is empty, `warn` is called.
// Returns the targets afterwards: a resized one has new storage.
using ResizeWarning = void (*)(const TensorSpec& old, const TensorSpec& wanted);
std::vector<Tensor> apply_out(const OpRow& row, std::span<Arg> args, std::span<const Tensor> targets,
                              ResizeWarning warn);

}  // namespace md
