#define MD_PART "tensor/simd/part_conversions.inl"
#include "tensor/simd/level_v4.inl"
