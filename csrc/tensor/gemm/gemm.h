// Our own matrix products of float32 and float64: c[m, n] = a[m, k] @ b[k, n], with b where it is or packed as it is
// read. How each is computed follows from its shape and layout alone. The sum of an element runs through k in order, by
// blocks of kGemmDepth, or in lanes (Dots): results depend neither on the number of threads nor on how rows and
// columns are split.
#pragma once
#include <cstdint>

#include "tensor/simd/loop_table.h"

namespace md {

enum class GemmMethod : uint8_t {
  Stream,  // b by rows, each added to the sums of all rows of c
  Dots,    // dot products with the columns of b
  Tiles,   // tiles in registers, with b where it is
  Panels,  // the same with some columns of b at a time packed
};

const char* name_of(GemmMethod method);

// Whether products of float32 are as fast as oneDNN's: from AVX2 on.
bool gemm_replaces_onednn();

// The fastest by a table of costs, for the whole product; a part of it is then computed in the same way.
template <typename T>
GemmMethod choose_gemm_method(const GemmProblem<T>& problem);

// Memory for one thread, at most kMostGemmScratch.
inline constexpr int64_t kMostGemmScratch = int64_t{2} << 20;

// On this thread.
void gemm_by(GemmMethod method, const GemmProblem<float>& problem);
void gemm_by(GemmMethod method, const GemmProblem<double>& problem);

// By the fastest method, in pieces for the threads of the pool.
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
