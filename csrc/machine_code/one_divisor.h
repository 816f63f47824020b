// Quotients by one number without a division for each: the correctly rounded results of the division itself.
#pragma once
#include "machine_code/vector_body.h"

namespace md {

// Where dividing takes a part of the processor that multiplying does not, every other vector is better divided: as on AMD's,
// where 16 float32 take 1.65 ns by themselves, 1.39 by multiplying, and 0.96 in turn (Zen 4, 3.7 GHz); 8 with AVX2 take
// 1.15, 0.92 and 0.67 (Zen 3).
bool divides_in_turn();

// With AVX2 the correction by itself is no faster than a division.
inline bool has_one_divisor(VectorSet set) { return set == VectorSet::Avx512 || divides_in_turn(); }

// Before the loop, the divisor is there. Overwrites vectors 0 to 2 and mask 1.
void prepare_divisor(VectorBody& body, const DivisorRegisters& registers);

// dst = a / divisor. `a` stays.
void divide_by_one(VectorBody& body, VectorRegister dst, VectorRegister a, const DivisorRegisters& registers);

}  // namespace md
