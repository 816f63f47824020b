// torch's type promotion, applied before an op runs or is captured: the graph holds final dtypes and explicit casts.
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "tensor/ops/op_row.h"
#include "tensor/tensor_modes.h"  // scalar_dtype

namespace md {

// What promotion looks at in one argument.
struct PromotionOperand {
  enum class Kind : uint8_t { Other, Tensor, Scalar } kind = Kind::Other;
  DType dtype = DType::float32;                     // Tensor
  int rank = 0;                                     // Tensor: 0-d tensors promote weakly inside their category
  DTypeCategory category = DTypeCategory::Integer;  // Scalar
};

// One operand per argument in schema order; a Tensor[] argument gives one operand for each of its tensors instead.
// For each operand the dtype it must be cast to; nullopt: as it is. A number that a kernel takes as a number is never cast.
// Throws Error(Runtime) for Promotion::Same with different dtypes, naming op and dtypes.
std::vector<std::optional<DType>> promote(const OpRow& row, std::span<const PromotionOperand> operands);

// The dtype that every tensor among the operands is cast to; nullopt: all stay as they are. What promote decides by, without
// allocating.
std::optional<DType> promotion_target(const OpRow& row, std::span<const PromotionOperand> operands);

// The dtype in which the operands meet, by torch's rule: tensors before 0-d tensors before numbers, inside a category.
// nullopt: neither tensors nor numbers among them.
std::optional<DType> common_dtype(std::span<const PromotionOperand> operands);

DType promote_types(DType a, DType b);

// What an argument is to promotion: of Kind::Other if its parameter takes no part. Not for Tensor[] arguments.
PromotionOperand promotion_operand(const Param& param, const Arg& arg);

}  // namespace md
