// Division by one number without a division per element, with the correctly rounded results of the division.
#pragma once
#include "machine_code/vector_body.h"

namespace md {

// Where divisions and multiplications use different execution units, dividing every other vector is faster, as on
// AMD: 16 float32 take 1.65 ns by dividing, 1.39 by multiplying, and 0.96 alternating (Zen 4, 3.7 GHz); 8 with AVX2
// take 1.15, 0.92 and 0.67 (Zen 3).
bool divides_in_turn();

// With AVX2 the correction alone is no faster than a division.
inline bool has_one_divisor(VectorSet set) { return set == VectorSet::Avx512 || divides_in_turn(); }

// Runs before the loop; expects the divisor to be loaded. Clobbers vectors 0 to 2 and mask 1.
void prepare_divisor(VectorBody& body, const DivisorRegisters& registers);

// dst = a / divisor. Preserves `a`.
void divide_by_one(VectorBody& body, VectorRegister dst, VectorRegister a, const DivisorRegisters& registers);

}  // namespace md
