// Compiles MD_PART, a part of the loops, for AVX-512 (x86-64-v4).
#include "tensor/simd/loop_headers.h"

#if defined(__x86_64__)
#include <immintrin.h>

#pragma GCC push_options
#pragma GCC target("arch=x86-64-v4,prefer-vector-width=512")
#define MD_LEVEL level_v4
#define MD_LEVEL_NAME "avx512"
#define MD_LEVEL_BYTES 64
#include MD_PART
#pragma GCC pop_options
#endif
