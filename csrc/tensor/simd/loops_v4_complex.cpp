#define MD_PART "tensor/simd/part_complex.inl"
#include "tensor/simd/level_v4.inl"
