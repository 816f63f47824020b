// The inner loops that exist once per instruction-set level, as one table of function pointers. Includes little: the
// loops take
// long to compile.
#pragma once
#include <cstdint>

#include "tensor/pointwise_table.h"

namespace md {

inline constexpr int kPointwiseCount = 0
#define MD_POINTWISE(...) +1
#include "tensor/pointwise.def"
#undef MD_POINTWISE
    ;

// dst[i] = To(src[i]).
using ConvertLoop = void (*)(const void* src, void* dst, int64_t n);

// The largest or smallest of n > 0 elements, a NaN before all; and where the first is that equals a value, or is NaN if
// that is. For half types and bool there are none.
using ExtremeLoop = void (*)(const void* src, int64_t n, void* best);
using FindLoop = int64_t (*)(const void* src, int64_t n, const void* value);

struct LoopTable {
  const char* name;  // of the instruction-set level
  // By row, dtype and scalar_mask / (arity == 3 ? 2 : 1).
  PointwiseLoop pointwise[kPointwiseCount][kDTypeCount][4];
  ConvertLoop convert[kDTypeCount][kDTypeCount];  // from, to
  ExtremeLoop extreme[kDTypeCount][2];            // smallest, largest
  FindLoop find[kDTypeCount];                     // -1: nowhere
  // float32 and float64 only. Sums are pairwise over blocks; max and min carry NaN; n > 0.
  float (*sum_f32)(const float* src, int64_t n);
  double (*sum_f64)(const double* src, int64_t n);
  float (*max_f32)(const float* src, int64_t n);
  double (*max_f64)(const double* src, int64_t n);
  float (*min_f32)(const float* src, int64_t n);
  double (*min_f64)(const double* src, int64_t n);
  // c[m, n] += a[m, k] * b[k, n], rows contiguous, leading dimensions in elements.
  void (*gemm_f64)(int64_t m, int64_t n, int64_t k, const double* a, int64_t lda, const double* b, int64_t ldb,
                   double* c, int64_t ldc);
  // Dot product and y += x * scale, for matrix-vector products.
  float (*dot_f32)(const float* a, const float* b, int64_t n);
  double (*dot_f64)(const double* a, const double* b, int64_t n);
  void (*axpy_f32)(float scale, const float* x, float* y, int64_t n);
  void (*axpy_f64)(double scale, const double* x, double* y, int64_t n);
  // dst[i] = exp(src[i] - shift); returns the sum of dst.
  float (*exp_sum_f32)(const float* src, float shift, float* dst, int64_t n);
  double (*exp_sum_f64)(const double* src, double shift, double* dst, int64_t n);
};

}  // namespace md
