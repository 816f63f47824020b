#include "tensor/simd/lane_table.h"
#define MD_PART "tensor/simd/part_lanes.inl"
#include "tensor/simd/level_baseline.inl"
