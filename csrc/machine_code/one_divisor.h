// Quotients by one number without a division for each: the correctly rounded results of the division itself.
#pragma once
#include "machine_code/vector_body.h"

namespace md {

// With AVX2 the correction needs more instructions than a division takes.
constexpr bool has_one_divisor(VectorSet set) { return set == VectorSet::Avx512; }

// Before the loop, the divisor is there. Overwrites zmm0 to zmm2 and k1.
void prepare_divisor(VectorBody& body, const DivisorRegisters& registers);

// dst = a / divisor. `a` stays.
void divide_by_one(VectorBody& body, VectorRegister dst, VectorRegister a, const DivisorRegisters& registers);

}  // namespace md
