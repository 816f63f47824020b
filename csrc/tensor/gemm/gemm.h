// Our own matrix products of float32 and float64: c[m, n] = a[m, k] @ b[k, n].
// For each block of k, b is packed into strips as wide as a tile, then each block of rows of a is packed so that it
// stays in the L2 cache while all strips are multiplied with it. The sum of an element runs through k in order: results
// depend neither on the number of threads nor on how the rows are split.
#pragma once
#include <cstdint>

namespace md {

inline constexpr int64_t kGemmDepth = 384;  // block of k

// Strides in elements: a is at a[i * a_row + p * a_step], b at b[p * b_row + j * b_step], rows of c are contiguous.
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

// Adds bias[n] to each of the m rows of c.
template <typename T>
void add_bias(int64_t m, int64_t n, const T* bias, T* c, int64_t c_row) {
  for (int64_t i = 0; i < m; ++i, c += c_row) {
    for (int64_t j = 0; j < n; ++j) c[j] += bias[j];
  }
}

}  // namespace md
