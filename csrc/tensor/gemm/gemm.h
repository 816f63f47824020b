// Matrix products of float32 and float64 with own loops: c[m, n] = a[m, k] @ b[k, n].
//
// A stretch of k at a time, b is packed into strips of a tile's columns, then each block of a's rows is packed so that it
// stays in the second cache while all strips pass over it. The sum of an element runs through k in order: results depend
// neither on the number of threads nor on how the rows are split.
#pragma once
#include <cstdint>

namespace md {

inline constexpr int64_t kGemmDepth = 384;  // of k at a time

// Strides in elements: a is at a[i * a_row + p * a_step], b at b[p * b_row + j * b_step], c's rows are contiguous.
template <typename T>
struct GemmProblem {
  int64_t m, n, k;
  const T* a;
  int64_t a_row, a_step;
  const T* b;
  int64_t b_row, b_step;
  T* c;
  int64_t c_row;
};

void gemm(const GemmProblem<float>& problem);
void gemm(const GemmProblem<double>& problem);

// bias[n] to each of m rows of c.
template <typename T>
void add_bias(int64_t m, int64_t n, const T* bias, T* c, int64_t c_row) {
  for (int64_t i = 0; i < m; ++i, c += c_row) {
    for (int64_t j = 0; j < n; ++j) c[j] += bias[j];
  }
}

}  // namespace md
