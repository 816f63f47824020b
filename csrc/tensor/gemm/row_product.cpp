#include "tensor/gemm/row_product.h"

#include <algorithm>

#include "tensor/simd/loops.h"

namespace md {
namespace {

// b's columns contiguous: dot products; b's rows contiguous: sums of scaled rows.
template <typename T>
void multiply(const RowProduct& p, const T* a, const T* b, T* c, int64_t begin, int64_t end) {
  const FloatLoops<T>& run = loops_of<T>();
  bool dots = p.b_row == 1 && p.a_step == 1;
  // Of one column, several rows of a at a time read it.
  if (dots && p.n == 1 && p.c_row == 1) return run.dots(b, a + begin * p.a_row, p.a_row, end - begin, p.k, c + begin);
  for (int64_t i = begin; i < end; ++i) {
    T* row = c + i * p.c_row;
    if (dots) {
      run.dots(a + i * p.a_row, b, p.b_step, p.n, p.k, row);
    } else {
      std::fill_n(row, p.n, T(0));
      for (int64_t q = 0; q < p.k; ++q) run.axpy(a[i * p.a_row + q * p.a_step], b + q * p.b_row, row, p.n);
    }
  }
}

}  // namespace

void multiply_rows(const RowProduct& product, const float* a, const float* b, float* c, int64_t begin, int64_t end) {
  multiply(product, a, b, c, begin, end);
}
void multiply_rows(const RowProduct& product, const double* a, const double* b, double* c, int64_t begin, int64_t end) {
  multiply(product, a, b, c, begin, end);
}

}  // namespace md
