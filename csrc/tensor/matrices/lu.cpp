#include "tensor/matrices/lu.h"

#include <algorithm>
#include <utility>

#include "base/rounding.h"
#include "tensor/matrices/complex_numbers.h"
#include "tensor/matrices/triangles.h"
#include "tensor/matrices/update.h"
#include "tensor/simd/loops.h"

namespace md {
namespace {

template <typename T>
int64_t largest_place(const T* column, int64_t n) {
  auto largest = size_of_parts(column[0]);
  int64_t place = 0;
  for (int64_t i = 1; i < n; ++i) {
    auto size = size_of_parts(column[i]);
    if (!(size > largest)) continue;
    largest = size;
    place = i;
  }
  return place;
}

template <typename T>
int64_t factor_complex_columns(const Block<T>& a, bool pivots, int32_t* places) {
  int64_t first_zero = 0;
  for (int64_t k = 0; k < std::min(a.rows, a.columns); ++k) {
    int64_t at = pivots ? k + largest_place(&a.at(k, k), a.rows - k) : k;
    places[k] = static_cast<int32_t>(at);
    if (a.at(at, k) == T{}) {
      if (first_zero == 0) first_zero = k + 1;
    } else {
      for (int64_t j = 0; j < a.columns && at != k; ++j) std::swap(a.at(k, j), a.at(at, j));
      for (int64_t i = k + 1; i < a.rows; ++i) a.at(i, k) = a.at(i, k) / a.at(k, k);
    }
    for (int64_t j = k + 1; j < a.columns; ++j) {
      T factor = a.at(k, j);
      for (int64_t i = k + 1; i < a.rows; ++i) a.at(i, j) = a.at(i, j) - a.at(i, k) * factor;
    }
  }
  return first_zero;
}

template <typename T>
int64_t factor_columns(const Block<T>& a, bool pivots, int32_t* places) {
  if constexpr (is_complex_type<T>) {
    return factor_complex_columns(a, pivots, places);
  } else {
    return factor_loops_of<T>().lu(a.data, a.step, a.rows, a.columns, pivots, places);
  }
}

}  // namespace

template <typename T>
void exchange_rows(const Block<T>& a, const int32_t* places, int64_t count, bool reversed) {
  for (int64_t j = 0; j < a.columns; ++j) {
    for (int64_t n = 0; n < count; ++n) {
      int64_t k = reversed ? count - 1 - n : n;
      std::swap(a.at(k, j), a.at(places[k], j));
    }
  }
}

template <typename T>
int64_t factor_lu(const Block<T>& a, bool pivots, int32_t* places) {
  int64_t steps = std::min(a.rows, a.columns);
  if (steps == 0) return 0;
  if (a.columns <= kFactorColumns) return factor_columns(a, pivots, places);
  int64_t half = std::min(steps, steps <= kFactorColumns ? steps : round_up((steps + 1) / 2, kFactorColumns));
  int64_t rows = a.rows - half, columns = a.columns - half;
  Block<T> left = a.part(0, 0, a.rows, half), right = a.part(0, half, a.rows, columns);
  int64_t first_zero = factor_lu(left, pivots, places);
  exchange_rows(right, places, half);
  Block<T> top = right.part(0, 0, half, columns), rest = right.part(half, 0, rows, columns);
  solve_lower(read_only(left.part(0, 0, half, half)), Diagonal::Ones, top);
  Block<T> below = left.part(half, 0, rows, half);
  subtract_product(rest, read_only(below), read_only(top));
  int64_t later = steps - half;
  if (later == 0) return first_zero;
  int64_t later_zero = factor_lu(rest, pivots, places + half);
  exchange_rows(below, places + half, later);
  for (int64_t k = half; k < steps; ++k) places[k] += static_cast<int32_t>(half);
  return first_zero != 0 || later_zero == 0 ? first_zero : later_zero + half;
}

#define MD_LU(T)                                               \
  template int64_t factor_lu(const Block<T>&, bool, int32_t*); \
  template void exchange_rows(const Block<T>&, const int32_t*, int64_t, bool);
MD_LU(float)
MD_LU(double)
MD_LU(Complex<float>)
MD_LU(Complex<double>)
#undef MD_LU

}  // namespace md
