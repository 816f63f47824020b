#define MD_PART "tensor/simd/part_floats.inl"
#include "tensor/simd/level_baseline.inl"
