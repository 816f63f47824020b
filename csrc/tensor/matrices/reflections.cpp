#include "tensor/matrices/reflections.h"

#include <algorithm>

#include "tensor/gemm/gemm.h"
#include "tensor/matrices/update.h"
#include "tensor/simd/loops.h"

namespace md {
namespace {

// Up to there reflections are applied one by one.
constexpr int64_t kFewReflections = 24;

template <typename T>
T* room(std::vector<T>& memory, int64_t items) {
  if (static_cast<int64_t>(memory.size()) < items) memory.resize(static_cast<size_t>(items));
  return memory.data();
}

}  // namespace

template <typename T>
void Reflections<T>::factor(const Block<T>& a, T* taus) {
  const FactorLoops<T>& loops = factor_loops_of<T>();
  int64_t steps = std::min(a.rows, a.columns);
  if (steps <= kFewReflections) return loops.qr(a.data, a.step, a.rows, a.columns, taus);
  for (int64_t k = 0; k < steps; k += kFactorColumns) {
    int64_t width = std::min(kFactorColumns, steps - k), rest = a.columns - k - width;
    Block<T> panel = a.part(k, k, a.rows - k, width);
    loops.qr(panel.data, panel.step, panel.rows, width, taus + k);
    if (rest == 0) continue;
    gather(read_only(panel), taus + k);
    reflect(a.part(k, k + width, a.rows - k, rest), true);
  }
}

template <typename T>
void Reflections<T>::product(const Block<const T>& a, const T* taus, int64_t count, const Block<T>& q) {
  for (int64_t j = 0; j < q.columns; ++j) {
    std::fill_n(&q.at(0, j), q.rows, T(0));
    if (j < q.rows) q.at(j, j) = 1;
  }
  const FactorLoops<T>& loops = factor_loops_of<T>();
  if (count <= kFewReflections) {
    for (int64_t k = count - 1; k >= 0; --k) {
      loops.reflect(a.data + k * a.step + k + 1, a.rows - k - 1, taus[k], &q.at(k, k), q.step, q.columns - k);
    }
    return;
  }
  // Columns before k are still those of the identity.
  for (int64_t k = (count - 1) / kFactorColumns * kFactorColumns; k >= 0; k -= kFactorColumns) {
    gather(a.part(k, k, a.rows - k, std::min(kFactorColumns, count - k)), taus + k);
    reflect(q.part(k, k, q.rows - k, q.columns - k), false);
  }
}

template <typename T>
void Reflections<T>::apply(const Block<const T>& a, const T* taus, int64_t count, bool turned, const Block<T>& c) {
  int64_t blocks = (count + kFactorColumns - 1) / kFactorColumns;
  for (int64_t n = 0; n < blocks; ++n) {
    int64_t k = (turned ? n : blocks - 1 - n) * kFactorColumns;
    gather(a.part(k, k, a.rows - k, std::min(kFactorColumns, count - k)), taus + k);
    reflect(c.part(k, 0, c.rows - k, c.columns), turned);
  }
}

// The product of the reflections is 1 - V T V^T: V with its ones and zeros, and the upper triangle T.
template <typename T>
void Reflections<T>::gather(const Block<const T>& vectors, const T* taus) {
  rows_ = vectors.rows;
  width_ = vectors.columns;
  T* v = room(vectors_, rows_ * width_);
  for (int64_t k = 0; k < width_; ++k) {
    T* column = v + k * rows_;
    std::fill_n(column, std::min(k, rows_), T(0));
    if (k < rows_) column[k] = 1;
    for (int64_t i = k + 1; i < rows_; ++i) column[i] = vectors.at(i, k);
  }
  T gram[kFactorColumns * kFactorColumns];
  gemm(GemmProblem<T>{width_, width_, rows_, v, rows_, 1, v, 1, rows_, gram, kFactorColumns});
  T* t = room(triangle_, kFactorColumns * kFactorColumns);
  for (int64_t k = 0; k < width_; ++k) {
    for (int64_t i = 0; i < kFactorColumns; ++i) t[i * kFactorColumns + k] = 0;
    for (int64_t i = 0; i < k; ++i) {
      T sum = 0;
      for (int64_t p = i; p < k; ++p) sum += t[i * kFactorColumns + p] * gram[p * kFactorColumns + k];
      t[i * kFactorColumns + k] = -taus[k] * sum;
    }
    t[k * kFactorColumns + k] = taus[k];
  }
}

template <typename T>
void Reflections<T>::reflect(const Block<T>& c, bool turned) {
  if (c.columns == 0) return;
  int64_t n = c.columns;
  T *v = vectors_.data(), *products = room(products_, width_ * n), *scaled = room(scaled_, width_ * n);
  gemm(GemmProblem<T>{width_, n, rows_, v, rows_, 1, c.data, c.row, c.step, products, n});
  int64_t row = turned ? 1 : kFactorColumns, step = turned ? kFactorColumns : 1;
  gemm(GemmProblem<T>{width_, n, width_, triangle_.data(), row, step, products, n, 1, scaled, n});
  subtract_product(c, Block<const T>{v, rows_, width_, 1, rows_}, Block<const T>{scaled, width_, n, n, 1});
}

template class Reflections<float>;
template class Reflections<double>;

}  // namespace md
