// Compiles MD_PART, a part of the loops, for any processor of the architecture.
#include "tensor/simd/loop_headers.h"

#define MD_LEVEL level_baseline
#define MD_LEVEL_NAME "baseline"
#define MD_LEVEL_BYTES 16
#include MD_PART
