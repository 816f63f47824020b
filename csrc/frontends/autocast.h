// Autocast: the dtypes in which the rows of the op table with a rule compute while it is on, as torch's on CPUs.
#pragma once
#include <optional>
#include <span>

#include "tensor/ops/op_row.h"
#include "tensor/tensor_modes.h"

namespace md {

// Whether autocast casts a tensor of this dtype at all.
inline bool is_autocast_eligible(DType dtype) { return is_floating(dtype) && dtype != DType::float64; }

// The dtype of the eligible operands of a row that follows autocast. `dtypes`: of all its tensors. Throws
// Error(Runtime) as torch does.
DType autocast_dtype(const OpRow& row, DType low_precision, std::span<const DType> dtypes);

// Casts the operands of a row that follows autocast by the state of this thread, with history.
void autocast_args(const OpRow& row, std::span<Arg> args);

// Sets the state of this thread; returns what it was. The casts that are kept are dropped where it becomes off.
AutocastState exchange_autocast(AutocastState state);
void drop_kept_casts();

}  // namespace md
