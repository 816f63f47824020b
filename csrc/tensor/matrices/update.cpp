#include "tensor/matrices/update.h"

#include <algorithm>

#include "tensor/gemm/gemm.h"
#include "tensor/matrices/complex_numbers.h"
#include "tensor/simd/loops.h"

namespace md {
namespace {

// From there on packing pays, and threads.
constexpr int64_t kGemmFrom = int64_t{1} << 21;

// a's columns, some at a time, where they are not contiguous.
template <typename T>
void update_by_copies(const Block<T>& c, const Block<const T>& a, const Block<const T>& b) {
  constexpr int64_t kRows = 48, kDepth = 64;
  T copy[kRows * kDepth];
  for (int64_t i = 0; i < c.rows; i += kRows) {
    int64_t rows = std::min(kRows, c.rows - i);
    for (int64_t p = 0; p < a.columns; p += kDepth) {
      int64_t depth = std::min(kDepth, a.columns - p);
      copy_block(a.part(i, p, rows, depth), Block<T>{copy, rows, depth, 1, kRows});
      factor_loops_of<T>().update(
          {rows, c.columns, depth, copy, kRows, b.data + p * b.row, b.row, b.step, c.data + i, c.step});
    }
  }
}

template <typename T>
void subtract_real(const Block<T>& c, const Block<const T>& a, const Block<const T>& b) {
  if (c.rows * c.columns * a.columns >= kGemmFrom && std::min({c.rows, c.columns, a.columns}) >= 8) {
    return gemm(GemmProblem<T>{.m = c.columns,
                               .n = c.rows,
                               .k = a.columns,
                               .a = b.data,
                               .a_row = b.step,
                               .a_step = b.row,
                               .b = a.data,
                               .b_row = a.step,
                               .b_step = a.row,
                               .c = c.data,
                               .c_row = c.step,
                               .subtract = true});
  }
  if (a.row != 1) return update_by_copies(c, a, b);
  factor_loops_of<T>().update({c.rows, c.columns, a.columns, a.data, a.step, b.data, b.row, b.step, c.data, c.step});
}

template <typename T>
void subtract_complex(const Block<T>& c, const Block<const T>& a, const Block<const T>& b) {
  for (int64_t j = 0; j < c.columns; ++j) {
    for (int64_t p = 0; p < a.columns; ++p) {
      T factor = b.at(p, j);
      for (int64_t i = 0; i < c.rows; ++i) c.at(i, j) = c.at(i, j) - a.at(i, p) * factor;
    }
  }
}

}  // namespace

template <typename T>
void subtract_product(const Block<T>& c, const Block<const T>& a, const Block<const T>& b) {
  if (c.rows == 0 || c.columns == 0 || a.columns == 0) return;
  if (c.row != 1) return subtract_product(c.turned(), b.turned(), a.turned());
  if constexpr (is_complex_type<T>) {
    subtract_complex(c, a, b);
  } else {
    subtract_real(c, a, b);
  }
}

template void subtract_product(const Block<float>&, const Block<const float>&, const Block<const float>&);
template void subtract_product(const Block<double>&, const Block<const double>&, const Block<const double>&);
template void subtract_product(const Block<Complex<float>>&, const Block<const Complex<float>>&,
                               const Block<const Complex<float>>&);
template void subtract_product(const Block<Complex<double>>&, const Block<const Complex<double>>&,
                               const Block<const Complex<double>>&);

}  // namespace md
