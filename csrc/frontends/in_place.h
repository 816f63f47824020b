// In-place and out= forms of the op table's rows, on arguments as a user gives them.
#pragma once
#include <span>

#include "tensor/ops/op_row.h"

namespace md {

// "add_" of "add".
std::string in_place_name(const OpRow& row);

// x.f_(...): args[0] is the tensor that is written to. args complete, in schema order; cast in place.
// Throws Error(Runtime) where the result does not fit argument 0, or argument 0 cannot be written to.
void apply_in_place(const OpRow& row, std::span<Arg> args);

// Pointwise results are cast down to an out=, others must have its dtype. Throws Error(Runtime) otherwise.
void check_out_dtype(const OpRow& row, DType result, DType target);

// f(..., out=t), one target for each result. A target of other sizes is resized, which only an empty one is without
// a warning: then `warn` is called. Returns what the targets are afterwards: a resized one has storage of its own.
using ResizeWarning = void (*)(const TensorSpec& old, const TensorSpec& wanted);
std::vector<Tensor> apply_out(const OpRow& row, std::span<Arg> args, std::span<const Tensor> targets,
                              ResizeWarning warn);

}  // namespace md
