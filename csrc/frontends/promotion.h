// torch's type promotion, applied before an op runs or is captured: graphs have final dtypes and explicit casts.
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "tensor/ops/op_row.h"
#include "tensor/tensor_modes.h"  // scalar_dtype

namespace md {

// What promotion considers of one argument.
struct PromotionOperand {
  enum class Kind : uint8_t { Other, Tensor, Scalar } kind = Kind::Other;
  DType dtype = DType::float32;                     // Tensor
  int rank = 0;                                     // Tensor: 0-d tensors promote weakly inside their category
  DTypeCategory category = DTypeCategory::Integer;  // Scalar
  const Scalar* number = nullptr;                   // Scalar: null if it is not known before the run
};

// One operand per argument in schema order; a Tensor[] argument has one operand per tensor instead. Returns for each
// operand the dtype it must be cast to; nullopt: unchanged. A number that a kernel takes as a number is never cast
// here, but for complex ones, which are tensors to kernels; a family may make a tensor of it.
// Throws Error(Runtime) for Promotion::Same with different dtypes, naming op and dtypes.
std::vector<std::optional<DType>> promote(const OpRow& row, std::span<const PromotionOperand> operands);

// The dtype that every tensor operand is cast to; nullopt: all unchanged. The decision of
// promote(), without allocating.
std::optional<DType> promotion_target(const OpRow& row, std::span<const PromotionOperand> operands);

// The common dtype of the operands by torch's rule: tensors before 0-d tensors before numbers, inside a category.
// nullopt: no tensors or numbers among them.
std::optional<DType> common_dtype(std::span<const PromotionOperand> operands);

DType promote_types(DType a, DType b);

// Throws Error(NotImplemented) for a Python complex number beside a tensor of 16-bit floats.
void refuse_complex_halves(const OpRow& op, std::span<const PromotionOperand> operands);

// The promotion operand of an argument: Kind::Other if its parameter does not take part. Not for Tensor[] arguments.
PromotionOperand promotion_operand(const Param& param, const Arg& arg);

}  // namespace md
