#define MD_PART "tensor/simd/part_integers.inl"
#include "tensor/simd/level_v3.inl"
