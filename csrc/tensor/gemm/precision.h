// In which numbers products of float32 are computed. Sums are float32, or exact integers, and results float32.
#pragma once
#include <cstdint>
#include <string>

#include "tensor/dtype.h"

namespace md {

enum class Precision : uint8_t {
  Float32,
  BFloat16,  // both operands rounded to bfloat16
  Int8,      // b in 8 bits by column, made once; the rows of a in 8 bits at each call
};
inline constexpr int kPrecisionCount = 3;

const char* name_of(Precision precision);
// " of bfloat16", empty for float32: behind the name of an implementation.
std::string of_precision(Precision precision);
// " in bfloat16", empty for float32: behind what a step computes.
std::string in_precision(Precision precision);

// The dtype of the numbers that are multiplied, for operands of `dtype`.
DType multiplied(DType dtype, Precision precision);

// What make(spec) returns in the precision of the spec, or, where that is null, in float32.
template <typename Spec, typename Make>
auto made_or_in_float32(Spec& spec, const Make& make) {
  auto made = make(spec);
  if (made != nullptr || spec.precision == Precision::Float32) return made;
  spec.precision = Precision::Float32;
  return make(spec);
}

// Whether this processor multiplies such numbers faster than float32.
bool is_fast(Precision precision);

}  // namespace md
