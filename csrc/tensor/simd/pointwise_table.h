// The rows of pointwise.def and the type of their loops.
#pragma once
#include <cstdint>

#include "tensor/dtype.h"
#include "tensor/scalar.h"

namespace md {

enum class PointwiseResult : uint8_t {
  Same,  // dtype of the operands
  Part,  // the same; of complex operands that of their parts
  Bool,
  Select,  // operand 0 is bool, the others and the result have the loop's dtype
};

enum class PointwiseTrait : uint8_t {
  Plain,
  Wraps,     // plain, and the bits of integer results do not depend on the sign: unsigned dtypes share the signed loops
  Costly,    // transcendental: about ten times an addition
  Divides,   // integers: a zero divisor raises
  Quotient,  // the same, and the smallest number by -1 has no quotient in the dtype
};

struct PointwiseRow {
  const char* name;
  uint8_t arity;
  uint8_t param_count;  // consecutive numbers that are not operands: alpha, negative_slope
  PointwiseResult result;
  bool may_fail;   // integers only: a zero divisor raises, so the caller checks operand 1 first (check_divisor)
  bool overflows;  // integers only: the quotient of the smallest number and -1 wraps around (flag_overflow)
  bool is_costly;  // transcendental: about ten times an addition
};

inline constexpr int kMaxPointwiseParams = 3;

enum class Pointwise : int {
  none = -1,
#define MD_POINTWISE(name, ...) name,
#include "tensor/simd/pointwise.def"
#undef MD_POINTWISE
};

// dst[i] = f(src[0][i], src[1][i], ...) for i < n. dst may be exactly one of the sources; no other overlap is allowed.
// Any alignment. params has param_count numbers, null if there are none.
using PointwiseLoop = void (*)(const void* const* src, void* dst, int64_t n, const Scalar* params);

}  // namespace md
