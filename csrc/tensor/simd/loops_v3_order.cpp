#include "tensor/simd/order_table.h"
#define MD_PART "tensor/simd/part_order.inl"
#include "tensor/simd/level_v3.inl"
