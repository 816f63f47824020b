// Matrices of float or double with at most four rows: sizes are constants, and elements stay in registers.
#pragma once
#include <cmath>
#include <cstdint>

#include "tensor/matrices/block.h"

namespace md {

inline constexpr int64_t kMostTinyRows = 4;

// Calls f.operator()<N>() for a size from 1 to kMostTinyRows.
template <typename F>
void with_tiny_size(int64_t n, const F& f) {
  if (n == 1) return f.template operator()<1>();
  if (n == 2) return f.template operator()<2>();
  if (n == 3) return f.template operator()<3>();
  f.template operator()<4>();
}

// The x of l @ x = x, or u @ x = x, for a triangle of the matrix.
template <int N, typename T>
void solve_tiny_lower(const T (&l)[N][N], bool has_ones, T (&x)[N]) {
  for (int i = 0; i < N; ++i) {
    for (int k = 0; k < i; ++k) x[i] -= l[i][k] * x[k];
    if (!has_ones) x[i] /= l[i][i];
  }
}
template <int N, typename T>
void solve_tiny_upper(const T (&u)[N][N], bool has_ones, T (&x)[N]) {
  for (int i = N - 1; i >= 0; --i) {
    for (int k = i + 1; k < N; ++k) x[i] -= u[i][k] * x[k];
    if (!has_ones) x[i] /= u[i][i];
  }
}

template <int N, typename T>
void read_tiny(const Block<const T>& from, T (&to)[N][N]) {
  for (int i = 0; i < N; ++i) {
    for (int j = 0; j < N; ++j) to[i][j] = from.at(i, j);
  }
}
template <int N, typename T>
void write_tiny(const T (&from)[N][N], const Block<T>& to) {
  for (int j = 0; j < N; ++j) {
    for (int i = 0; i < N; ++i) to.at(i, j) = from[i][j];
  }
}

// p @ l @ u, as factor_lu makes it.
template <typename T, int N>
struct TinyLu {
  T factors[N][N];
  int32_t places[N];

  // Returns the number, from 1, of the first column whose pivot is 0, or 0.
  int32_t factor(const Block<const T>& from, bool pivots) {
    read_tiny(from, factors);
    int32_t first_zero = 0;
    for (int k = 0; k < N; ++k) {
      places[k] = pivots ? largest_place(k) : k;
      exchange(k, places[k]);
      T head = factors[k][k];
      if (head == 0) {
        first_zero = first_zero == 0 ? k + 1 : first_zero;
        head = 1;
      }
      for (int i = k + 1; i < N; ++i) {
        T factor = factors[i][k] / head;
        factors[i][k] = factor;
        for (int j = k + 1; j < N; ++j) factors[i][j] -= factor * factors[k][j];
      }
    }
    return first_zero;
  }

  // x has a right side, and then the solution.
  void solve(T (&x)[N]) const {
    for (int k = 0; k < N; ++k) {
      for (int i = k + 1; i < N; ++i) exchange_if(places[k] == i, x[k], x[i]);
    }
    solve_tiny_lower(factors, true, x);
    solve_tiny_upper(factors, false, x);
  }

 private:
  static void exchange_if(bool wanted, T& a, T& b) {
    T before = a;
    a = wanted ? b : a;
    b = wanted ? before : b;
  }
  // NaNs are not the largest, but at the beginning.
  int32_t largest_place(int k) const {
    int32_t place = k;
    T largest = std::fabs(factors[k][k]);
    for (int i = k + 1; i < N; ++i) {
      T size = std::fabs(factors[i][k]);
      place = size > largest ? i : place;
      largest = size > largest ? size : largest;
    }
    return place;
  }
  void exchange(int k, int32_t place) {
    for (int i = k + 1; i < N; ++i) {
      for (int j = 0; j < N; ++j) exchange_if(place == i, factors[k][j], factors[i][j]);
    }
  }
};

// a = l @ l^T, of which the lower triangle is read; zeros above. Returns the order of the first leading minor that is
// not positive, or 0.
template <int N, typename T>
int32_t factor_tiny_cholesky(T (&a)[N][N]) {
  int32_t failed = 0;
  for (int k = 0; k < N && failed == 0; ++k) {
    if (!(a[k][k] > 0)) {
      failed = k + 1;
      break;
    }
    a[k][k] = std::sqrt(a[k][k]);
    for (int i = k + 1; i < N; ++i) a[i][k] /= a[k][k];
    for (int j = k + 1; j < N; ++j) {
      for (int i = j; i < N; ++i) a[i][j] -= a[i][k] * a[j][k];
    }
  }
  for (int i = 0; i < N; ++i) {
    for (int j = i + 1; j < N; ++j) a[i][j] = 0;
  }
  return failed;
}

}  // namespace md
