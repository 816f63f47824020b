#include "tensor/matrices/triangles.h"

#include "base/rounding.h"
#include "tensor/matrices/complex_numbers.h"
#include "tensor/matrices/update.h"
#include "tensor/simd/loops.h"

namespace md {
namespace {

template <typename T>
void substitute(const Block<const T>& l, Diagonal diagonal, const Block<T>& b) {
  if constexpr (is_complex_type<T>) {
    for (int64_t j = 0; j < b.columns; ++j) {
      for (int64_t k = 0; k < l.rows; ++k) {
        if (diagonal == Diagonal::Read) b.at(k, j) = b.at(k, j) / l.at(k, k);
        T known = b.at(k, j);
        for (int64_t i = k + 1; i < l.rows; ++i) b.at(i, j) = b.at(i, j) - l.at(i, k) * known;
      }
    }
  } else {
    factor_loops_of<T>().solve_lower({.n = l.rows,
                                      .count = b.columns,
                                      .l = l.data,
                                      .l_row = l.row,
                                      .l_step = l.step,
                                      .has_ones = diagonal == Diagonal::Ones,
                                      .b = b.data,
                                      .b_row = b.row,
                                      .b_step = b.step});
  }
}

// With rows, and columns, from the last to the first.
template <typename T>
Block<T> reversed_rows(const Block<T>& block) {
  return {block.data + (block.rows - 1) * block.row, block.rows, block.columns, -block.row, block.step};
}

int64_t first_half(int64_t n) { return round_up((n + 1) / 2, kFactorColumns); }

}  // namespace

template <typename T>
void solve_lower(const Block<const T>& l, Diagonal diagonal, const Block<T>& b) {
  int64_t n = l.rows;
  if (n == 0 || b.columns == 0) return;
  if (n <= kFactorColumns) return substitute(l, diagonal, b);
  int64_t half = first_half(n), rest = n - half;
  Block<T> upper = b.part(0, 0, half, b.columns), lower = b.part(half, 0, rest, b.columns);
  solve_lower(l.part(0, 0, half, half), diagonal, upper);
  subtract_product(lower, l.part(half, 0, rest, half), read_only(upper));
  solve_lower(l.part(half, half, rest, rest), diagonal, lower);
}

template <typename T>
void solve_upper(const Block<const T>& u, Diagonal diagonal, const Block<T>& b) {
  int64_t n = u.rows;
  if (n == 0 || b.columns == 0) return;
  if (n <= kFactorColumns)
    return substitute(reversed_rows(reversed_rows(u).turned()).turned(), diagonal, reversed_rows(b));
  int64_t half = first_half(n), rest = n - half;
  Block<T> upper = b.part(0, 0, half, b.columns), lower = b.part(half, 0, rest, b.columns);
  solve_upper(u.part(half, half, rest, rest), diagonal, lower);
  subtract_product(upper, u.part(0, half, half, rest), read_only(lower));
  solve_upper(u.part(0, 0, half, half), diagonal, upper);
}

#define MD_TRIANGLES(T)                                                        \
  template void solve_lower(const Block<const T>&, Diagonal, const Block<T>&); \
  template void solve_upper(const Block<const T>&, Diagonal, const Block<T>&);
MD_TRIANGLES(float)
MD_TRIANGLES(double)
MD_TRIANGLES(Complex<float>)
MD_TRIANGLES(Complex<double>)
#undef MD_TRIANGLES

}  // namespace md
