// NumPy's type promotion (NEP 50), by its own ufuncs: each row that they stand for asks ufunc.resolve_dtypes().
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "cpython/ref.h"
#include "frontends/promotion.h"

namespace md::numpy {

// What a row of the op table is in NumPy.
enum class IntegerLoops : uint8_t {
  Same,      // computes as NumPy does
  ByNumber,  // only with a known number that is not negative as second operand
  None,      // not captured
};
void add_ufunc(const OpRow& row, BorrowedRef ufunc, IntegerLoops integers);

// Dtypes of the ufunc's loop for arrays, and for scalars among themselves, whose integer arithmetic warns of overflows. Of a row
// without a ufunc: nothing is cast. Throws Error(Type) for what is not captured.
std::vector<std::optional<DType>> promote_arrays(const OpRow& row, std::span<const PromotionOperand> operands);
std::vector<std::optional<DType>> promote_scalars(const OpRow& row, std::span<const PromotionOperand> operands);
// casting="same_kind": numpy.can_cast().
bool may_store(DType from, DType to);
// NumPy raises for ints out of range; null: any number.
bool may_store_number(DType dtype, const Scalar* number);

}  // namespace md::numpy
