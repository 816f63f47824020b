#include "tensor/matrices/cholesky.h"

#include <algorithm>
#include <cmath>

#include "base/rounding.h"
#include "tensor/matrices/complex_numbers.h"
#include "tensor/matrices/triangles.h"
#include "tensor/matrices/update.h"
#include "tensor/simd/loops.h"

namespace md {
namespace {

template <typename T>
int64_t factor_complex(const Block<T>& a) {
  for (int64_t k = 0; k < a.rows; ++k) {
    auto head = a.at(k, k).re;
    if (!(head > 0)) return k + 1;
    auto root = std::sqrt(head);
    a.at(k, k) = {root, 0};
    for (int64_t i = k + 1; i < a.rows; ++i) a.at(i, k) = {a.at(i, k).re / root, a.at(i, k).im / root};
    for (int64_t j = k + 1; j < a.rows; ++j) {
      T factor = conjugate(a.at(j, k));
      for (int64_t i = j; i < a.rows; ++i) a.at(i, j) = a.at(i, j) - a.at(i, k) * factor;
    }
  }
  return 0;
}

// The lower triangle of c -= a @ a^T, by strips of columns.
template <typename T>
void subtract_square(const Block<T>& c, const Block<const T>& a) {
  constexpr int64_t kStrip = 64;
  for (int64_t j = 0; j < c.rows; j += kStrip) {
    int64_t width = std::min(kStrip, c.rows - j), rows = c.rows - j;
    subtract_product(c.part(j, j, rows, width), a.part(j, 0, rows, a.columns), a.part(j, 0, width, a.columns).turned());
  }
}

template <typename T>
int64_t factor_real(const Block<T>& a) {
  int64_t n = a.rows;
  if (n <= kFactorColumns) return factor_loops_of<T>().cholesky(a.data, a.step, n);
  int64_t half = round_up((n + 1) / 2, kFactorColumns), rest = n - half;
  Block<T> first = a.part(0, 0, half, half), below = a.part(half, 0, rest, half), last = a.part(half, half, rest, rest);
  if (int64_t failed = factor_real(first); failed != 0) return failed;
  solve_lower(read_only(first), Diagonal::Read, below.turned());
  subtract_square(last, read_only(below));
  int64_t failed = factor_real(last);
  return failed == 0 ? 0 : failed + half;
}

}  // namespace

template <typename T>
int64_t factor_cholesky(const Block<T>& a) {
  if constexpr (is_complex_type<T>) {
    return factor_complex(a);
  } else {
    return a.rows == 0 ? 0 : factor_real(a);
  }
}
template int64_t factor_cholesky(const Block<float>&);
template int64_t factor_cholesky(const Block<double>&);
template int64_t factor_cholesky(const Block<Complex<float>>&);
template int64_t factor_cholesky(const Block<Complex<double>>&);

}  // namespace md
