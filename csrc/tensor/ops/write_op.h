// Writing an op's result into a tensor that exists: what in-place and out= forms of the op table's rows do.
#pragma once
#include <span>
#include <string_view>

#include "tensor/ops/op_row.h"

namespace md {

// "Float", "Long": torch's names for dtypes in messages about casts.
std::string_view scalar_type_name(DType dtype);
// Whether a result of `from` may be written to a tensor of `to`: never to a lower category.
bool can_write(DType from, DType to);

// Throws Error(Runtime) where torch does: the target has an expanded dim, or overlaps a tensor argument in part.
// Before promotion casts the arguments.
void check_writable(const OpRow& row, std::span<const Arg> args, const Tensor& target);
// Throws Error(Runtime) where two elements are the same memory by an expanded dim.
void require_elements_apart(const OpRow& row, const Tensor& target);

// args complete, dtypes final. The result must have the target's sizes and a dtype that can be written to it.
// Right for every overlap of target and arguments. Bumps the version of the target's storage.
void write_op(const OpRow& row, std::span<const Arg> args, const Tensor& target);
// The same when all are fake: checks sizes and dtype only.
void check_write(const OpRow& row, const TensorSpec& result, const TensorSpec& target);

}  // namespace md
