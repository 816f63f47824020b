// The loops for any processor of the architecture.
#include "tensor/simd/loop_headers.h"

#define MD_LEVEL_NAME "baseline"
#define MD_LEVEL_TABLE kLoopsBaseline
#define MD_LEVEL_BYTES 16
#include "tensor/simd/loops.inl"
