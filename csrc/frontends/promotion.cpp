#include "frontends/promotion.h"

#include <algorithm>

#include "tensor/ops/write_op.h"

namespace md {
namespace {

DTypeCategory category(DType dtype) { return row(dtype).category; }

// The narrowest signed integer dtype with this many bits.
DType signed_integer(int digits) {
  for (int i = 0; i < kDTypeCount; ++i) {
    const DTypeRow& row = kDTypes[i];
    if (row.category == DTypeCategory::Integer && row.is_signed && row.digits >= digits) return static_cast<DType>(i);
  }
  return DType::int64;
}

// A signed and an unsigned dtype promote to the narrowest one that holds both.
DType promote_integers(DType a, DType b) {
  if (row(a).is_signed != row(b).is_signed) return signed_integer(std::max(row(a).digits, row(b).digits));
  return row(a).digits >= row(b).digits ? a : b;
}

// Integers give way to the parts of complex numbers, wide floats widen them.
DType promote_with_complex(DType complex, DType other) {
  bool widens = is_inexact(other) && item_size(part_dtype(other)) > item_size(part_dtype(complex));
  return widens ? DType::complex128 : complex;
}

DType promote_floats(DType a, DType b) {
  bool two_halves = a != b && is_half(a) && is_half(b);
  if (two_halves) return row(a).accumulator;
  return item_size(a) >= item_size(b) ? a : b;
}

std::optional<DType> promote_optional(std::optional<DType> a, std::optional<DType> b) {
  if (!a) return b;
  if (!b) return a;
  return promote_types(*a, *b);
}

// The group with precedence determines the dtype unless the other group is of a higher category.
std::optional<DType> combine(std::optional<DType> higher, std::optional<DType> lower) {
  if (!higher || !lower) return higher ? higher : lower;
  if (is_floating(*higher) && is_complex(*lower)) return complex_dtype(*higher);
  return category(*lower) > category(*higher) ? promote_types(*higher, *lower) : higher;
}

void require_same(const OpRow& op, std::span<const PromotionOperand> operands) {
  const PromotionOperand* first = nullptr;
  for (const PromotionOperand& operand : operands) {
    if (operand.kind != PromotionOperand::Kind::Tensor) continue;
    if (first == nullptr) first = &operand;
    if (operand.dtype != first->dtype) {
      raise_op(ErrorKind::Runtime, op.name, "expected tensors of one dtype, got ", row(first->dtype).name, " and ",
               row(operand.dtype).name);
    }
  }
}

}  // namespace

// sub, with torch's message.
static void refuse_bools(const OpRow& op, std::span<const PromotionOperand> operands) {
  int bools = 0, all = 0;
  for (const PromotionOperand& operand : operands) {
    if (operand.kind == PromotionOperand::Kind::Other) continue;
    bool is_tensor = operand.kind == PromotionOperand::Kind::Tensor;
    ++all;
    bools += (is_tensor ? category(operand.dtype) : operand.category) == DTypeCategory::Bool;
  }
  if (bools == 0) return;
  raise_op(ErrorKind::Runtime, op.name, "Subtraction, the `-` operator, with ",
           bools == all ? "two bool tensors is not supported. Use the `^` or `logical_xor()` operator instead."
                        : "a bool tensor is not supported. If you are trying to invert a mask, use the `~` or "
                          "`logical_not()` operator instead.");
}

static bool is_complex_number(const PromotionOperand& operand) {
  return operand.kind == PromotionOperand::Kind::Scalar && operand.category == DTypeCategory::Complex;
}

// torch has complex numbers of two float16.
void refuse_complex_halves(const OpRow& op, std::span<const PromotionOperand> operands) {
  auto is_half_tensor = [](const PromotionOperand& operand) {
    return operand.kind == PromotionOperand::Kind::Tensor && is_half(operand.dtype);
  };
  if (std::ranges::any_of(operands, is_complex_number) && std::ranges::any_of(operands, is_half_tensor))
    raise_op(ErrorKind::NotImplemented, python_name(op), "there is no dtype for complex numbers of 16-bit floats");
}

// torch has them, but promotes them to floats alone.
static bool is_barebones(DType dtype) { return is_unsigned(dtype) && dtype != DType::uint8; }

DType promote_types(DType a, DType b) {
  if (a != b && (is_barebones(a) || is_barebones(b)) && !is_inexact(a) && !is_inexact(b)) {
    raise(ErrorKind::Runtime, "Promotion for uint16, uint32, uint64 types is not supported, attempted to promote ",
          scalar_type_name(a), " and ", scalar_type_name(b));
  }
  if (is_complex(a)) return promote_with_complex(a, b);
  if (is_complex(b)) return promote_with_complex(b, a);
  if (category(a) != category(b)) return category(a) > category(b) ? a : b;
  switch (category(a)) {
    case DTypeCategory::Bool:
      return DType::bool_;
    case DTypeCategory::Integer:
      return promote_integers(a, b);
    case DTypeCategory::Floating:
      return promote_floats(a, b);
    case DTypeCategory::Complex:
      break;
  }
  return a;
}

std::optional<DType> common_dtype(std::span<const PromotionOperand> operands) {
  std::optional<DType> with_dims, zero_dim, numbers;
  for (const PromotionOperand& operand : operands) {
    switch (operand.kind) {
      case PromotionOperand::Kind::Other:
        break;
      case PromotionOperand::Kind::Tensor: {
        std::optional<DType>& group = operand.rank > 0 ? with_dims : zero_dim;
        group = promote_optional(group, operand.dtype);
        break;
      }
      case PromotionOperand::Kind::Scalar:
        numbers = promote_optional(numbers, scalar_dtype(operand.category));
        break;
    }
  }
  return combine(with_dims, combine(zero_dim, numbers));
}

std::optional<DType> promotion_target(const OpRow& op, std::span<const PromotionOperand> operands) {
  if (op.promotion == Promotion::None) return std::nullopt;
  if (op.promotion == Promotion::Same) {
    require_same(op, operands);
    return std::nullopt;
  }
  if (op.promotion == Promotion::SameOrFactor) {
    const PromotionOperand& factor = operands.back();
    bool promotes = factor.kind == PromotionOperand::Kind::Tensor && factor.rank == 0;
    require_same(op, promotes ? operands.first(operands.size() - 1) : operands);
    return promotes ? common_dtype(operands) : std::nullopt;
  }
  refuse_complex_halves(op, operands);
  if (op.promotion == Promotion::NoBool) refuse_bools(op, operands);
  std::optional<DType> common = common_dtype(operands);
  if (op.promotion == Promotion::BoolToInt && common == DType::bool_) return DType::int64;
  bool to_float = op.promotion == Promotion::TrueDivide || op.promotion == Promotion::FloatUnary;
  if (common && to_float && !is_inexact(*common)) return default_dtype();
  return common;
}

std::vector<std::optional<DType>> promote(const OpRow& op, std::span<const PromotionOperand> operands) {
  std::vector<std::optional<DType>> casts(operands.size());
  std::optional<DType> target = promotion_target(op, operands);
  for (size_t i = 0; target && i < operands.size(); ++i) {
    bool is_tensor = operands[i].kind == PromotionOperand::Kind::Tensor;
    if ((is_tensor && operands[i].dtype != *target) || is_complex_number(operands[i])) casts[i] = target;
  }
  return casts;
}

PromotionOperand promotion_operand(const Param& param, const Arg& arg) {
  if (!param.promotes) return {};
  if (const Tensor* tensor = std::get_if<Tensor>(&arg); tensor != nullptr && tensor->defined()) {
    return {.kind = PromotionOperand::Kind::Tensor, .dtype = (*tensor)->dtype(), .rank = (*tensor)->rank()};
  }
  if (const Scalar* scalar = std::get_if<Scalar>(&arg)) {
    return {.kind = PromotionOperand::Kind::Scalar, .category = scalar->category()};
  }
  return {};
}

}  // namespace md
