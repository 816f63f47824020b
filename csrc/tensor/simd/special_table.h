// The loops of special functions, which exist once per instruction-set level.
#pragma once
#include <cstdint>

namespace md {

enum class Special : uint8_t {
#define MD_SPECIAL(name) name,
#include "tensor/simd/special_functions.def"
#undef MD_SPECIAL
};

// dst[i] = f(src[i]); dst may be src.
using SpecialLoop = void (*)(const double* src, double* dst, int64_t n);
using FloatSpecialLoop = void (*)(const float* src, float* dst, int64_t n);

inline constexpr int kSpecialCount = 0
#define MD_SPECIAL(name) +1
#include "tensor/simd/special_functions.def"
#undef MD_SPECIAL
    ;

struct SpecialTable {
  SpecialLoop loops[kSpecialCount];
  SpecialLoop short_loops[kSpecialCount];       // with the precision of float
  FloatSpecialLoop float_loops[kSpecialCount];  // null: there is none
};

}  // namespace md
