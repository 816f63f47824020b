#include "tensor/simd/special_table.h"
#define MD_PART "tensor/simd/part_special.inl"
#include "tensor/simd/level_v4.inl"
