// Writes an op's result to an existing tensor: the in-place and out= variants of ops.
#pragma once
#include <span>
#include <string_view>

#include "tensor/ops/op_row.h"

namespace md {

// "Float", "Long": torch's names of dtypes in messages about casts.
std::string_view scalar_type_name(DType dtype);
// Whether a result of `from` may be written to a tensor of `to`: never to a lower category.
bool can_write(DType from, DType to);

// Throws Error(Runtime) as torch does: the target has an expanded dim, or partially overlaps a tensor argument. Call
// before promotion casts the arguments.
void check_writable(const OpRow& row, std::span<const Arg> args, const Tensor& target);
// Throws Error(Runtime) if two elements share memory through an expanded dim.
void require_elements_apart(const OpRow& row, const Tensor& target);

// args: complete, dtypes final. The result must have the target's sizes and a dtype that can be written to it. Correct
// for every overlap of target and arguments. Bumps the version of the target's storage.
void write_op(const OpRow& row, std::span<const Arg> args, const Tensor& target);
// The same if all are fake: only checks sizes and dtype.
void check_write(const OpRow& row, const TensorSpec& result, const TensorSpec& target);

}  // namespace md
