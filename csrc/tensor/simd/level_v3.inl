// Compiles MD_PART, a part of the loops, for AVX2 and FMA (x86-64-v3).
#include "tensor/simd/loop_headers.h"

#if defined(__x86_64__)
#include <immintrin.h>

#pragma GCC push_options
#pragma GCC target("arch=x86-64-v3")
#define MD_LEVEL level_v3
#define MD_LEVEL_NAME "avx2"
#define MD_LEVEL_BYTES 32
#include MD_PART
#pragma GCC pop_options
#endif
