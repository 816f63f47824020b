#include "tensor/simd/fourier_table.h"
#define MD_PART "tensor/simd/part_fourier.inl"
#include "tensor/simd/level_v3.inl"
