// NumPy's type promotion (NEP 50), by its own ufuncs: each row that they stand for asks ufunc.resolve_dtypes().
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "cpython/ref.h"
#include "frontends/promotion.h"

namespace md::numpy {

// When a row of the op table computes what NumPy's ufunc does, of numbers that are no floats.
enum class ExactLoops : uint8_t {
  Same,      // always
  ByNumber,  // only with a known number as second operand: of integers no negative one, of complex numbers 2 or 3
  None,      // never
};
void add_ufunc(const OpRow& row, BorrowedRef ufunc, ExactLoops loops);

// Dtypes of the ufunc's loop for arrays, and for scalars among themselves, whose integer arithmetic warns of overflows.
// Of a row without a ufunc: nothing is cast. Throws Error(Type) for what is not captured.
std::vector<std::optional<DType>> promote_arrays(const OpRow& row, std::span<const PromotionOperand> operands);
std::vector<std::optional<DType>> promote_scalars(const OpRow& row, std::span<const PromotionOperand> operands);
// casting="same_kind": numpy.can_cast().
bool may_store(DType from, DType to);
// NumPy raises for ints out of range; null: any number.
bool may_store_number(DType dtype, const Scalar* number);

}  // namespace md::numpy
