#define MD_PART "tensor/simd/part_blocks.inl"
#include "tensor/simd/level_baseline.inl"
