#include "tensor/simd/pointwise.h"

#include <string_view>

#include "tensor/simd/known_result.h"
#include "tensor/simd/loops.h"

namespace md {
namespace {

constexpr Truth truth_of(std::string_view expression) {
  return expression == "false" ? Truth::False : expression == "true" ? Truth::True : Truth::Depends;
}

struct Truths {
  Truth of_integers, of_bools;
};
constexpr Truths kTruths[] = {
#define MD_POINTWISE(name, arity, params, result, traits, floats, integers, bools) \
  {truth_of(#integers), truth_of(#bools)},
#include "tensor/simd/pointwise.def"
#undef MD_POINTWISE
};

constexpr PointwiseRow kRows[] = {
#define MD_POINTWISE(name, arity, params, result, traits, ...) \
  {#name,                                                      \
   arity,                                                      \
   params,                                                     \
   PointwiseResult::result,                                    \
   PointwiseTrait::traits >= PointwiseTrait::Divides,          \
   PointwiseTrait::traits == PointwiseTrait::Quotient,         \
   PointwiseTrait::traits == PointwiseTrait::Costly},
#include "tensor/simd/pointwise.def"
#undef MD_POINTWISE
};

constexpr PointwiseTrait kTraits[] = {
#define MD_POINTWISE(name, arity, params, result, traits, ...) PointwiseTrait::traits,
#include "tensor/simd/pointwise.def"
#undef MD_POINTWISE
};

const PointwiseRow& row_at(int row) { return kRows[static_cast<size_t>(row)]; }

int mask_slot(int row, unsigned mask) { return static_cast<int>(row_at(row).arity == 3 ? mask / 2 : mask); }

bool mask_exists(int row, unsigned mask) {
  switch (row_at(row).arity) {
    case 1:
      return mask == 0;
    case 2:
      return mask <= 2;
    default:
      return mask <= 6 && mask % 2 == 0;
  }
}

}  // namespace

std::span<const PointwiseRow> pointwise_rows() { return kRows; }

PointwiseLoop pointwise_loop(int row, DType dtype, unsigned scalar_mask) {
  if (!mask_exists(row, scalar_mask)) return nullptr;
  return loops().pointwise[static_cast<int>(dtype)][row][mask_slot(row, scalar_mask)];
}

bool pointwise_supports(int row, DType dtype) { return loops().pointwise[static_cast<int>(dtype)][row][0] != nullptr; }

Truth known_result(int row, DType dtype) {
  switch (md::row(dtype).category) {
    case DTypeCategory::Bool:
      return kTruths[row].of_bools;
    case DTypeCategory::Integer:
      return kTruths[row].of_integers;
    case DTypeCategory::Floating:
    case DTypeCategory::Complex:
      return Truth::Depends;
  }
  return Truth::Depends;
}

DType scalar_operand_dtype(DType dtype) { return row(dtype).accumulator; }

bool ignores_sign(int row) { return kTraits[static_cast<size_t>(row)] == PointwiseTrait::Wraps; }

DType pointwise_result_dtype(int row, DType dtype) {
  switch (row_at(row).result) {
    case PointwiseResult::Bool:
      return DType::bool_;
    case PointwiseResult::Part:
      return part_dtype(dtype);
    case PointwiseResult::Same:
    case PointwiseResult::Select:
      break;
  }
  return dtype;
}

}  // namespace md
