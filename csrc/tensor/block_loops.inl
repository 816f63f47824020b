// Reductions over a contiguous run, and the inner loops of matrix products.

// Independent partial results, so that the compiler keeps them in vector registers.
constexpr int kLanes = 64;
constexpr int64_t kSumBlock = 1024;

template <typename T>
inline T fold_sum(T* lanes) {
  for (int width = kLanes / 2; width > 0; width /= 2) {
    for (int i = 0; i < width; ++i) lanes[i] += lanes[i + width];
  }
  return lanes[0];
}

template <typename T>
T sum_block(const T* src, int64_t n) {
  if (n < kLanes) {
    T total = 0;
    for (int64_t i = 0; i < n; ++i) total += src[i];
    return total;
  }
  T lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) lanes[lane] += src[i + lane];
  }
  for (int lane = 0; i < n; ++i, ++lane) lanes[lane] += src[i];
  return fold_sum(lanes);
}

// Pairwise over blocks: the error grows with the logarithm of n.
template <typename T>
T sum_run(const T* src, int64_t n) {
  if (n <= kSumBlock) return sum_block(src, n);
  int64_t half = (n / 2 + kSumBlock - 1) / kSumBlock * kSumBlock;
  return sum_run(src, half) + sum_run(src + half, n - half);
}

template <typename T, bool Max>
T extreme_run(const T* src, int64_t n) {
  T best = src[0];
  int64_t i = 0;
  if (n >= kLanes) {
    T lanes[kLanes];
    for (int lane = 0; lane < kLanes; ++lane) lanes[lane] = src[lane];
    for (i = kLanes; i + kLanes <= n; i += kLanes) {
      for (int lane = 0; lane < kLanes; ++lane) {
        lanes[lane] = Max ? max_of(lanes[lane], src[i + lane]) : min_of(lanes[lane], src[i + lane]);
      }
    }
    for (int lane = 0; lane < kLanes; ++lane) best = Max ? max_of(best, lanes[lane]) : min_of(best, lanes[lane]);
  }
  for (; i < n; ++i) best = Max ? max_of(best, src[i]) : min_of(best, src[i]);
  return best;
}

template <typename T>
T dot_run(const T* a, const T* b, int64_t n) {
  T lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) lanes[lane] += a[i + lane] * b[i + lane];
  }
  for (int lane = 0; i < n; ++i, ++lane) lanes[lane] += a[i] * b[i];
  return fold_sum(lanes);
}

template <typename T>
void axpy_run(T scale, const T* x, T* y, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) y[i] += scale * x[i];
}

template <typename T>
T exp_sum_run(const T* src, T shift, T* dst, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) dst[i] = math_exp(src[i] - shift);
  return sum_run(dst, n);
}

// Vectors of the level's width, with the alignment of their elements.
constexpr int kDoubles = MD_LEVEL_BYTES / sizeof(double);
typedef double DoubleVector __attribute__((vector_size(MD_LEVEL_BYTES), aligned(8), may_alias));

// A tile of Rows x 2 vectors of c is kept in registers over the whole of k.
template <int Rows>
inline void gemm_tile(int64_t k, const double* a, int64_t lda, const double* b, int64_t ldb, double* c, int64_t ldc) {
  DoubleVector left[Rows], right[Rows];
  for (int r = 0; r < Rows; ++r) {
    left[r] = *reinterpret_cast<const DoubleVector*>(c + r * ldc);
    right[r] = *reinterpret_cast<const DoubleVector*>(c + r * ldc + kDoubles);
  }
  for (int64_t p = 0; p < k; ++p) {
    DoubleVector b_left = *reinterpret_cast<const DoubleVector*>(b + p * ldb);
    DoubleVector b_right = *reinterpret_cast<const DoubleVector*>(b + p * ldb + kDoubles);
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
      double scale = a[r * lda + p];
      left[r] += scale * b_left;
      right[r] += scale * b_right;
    }
  }
  for (int r = 0; r < Rows; ++r) {
    *reinterpret_cast<DoubleVector*>(c + r * ldc) = left[r];
    *reinterpret_cast<DoubleVector*>(c + r * ldc + kDoubles) = right[r];
  }
}

// The columns that do not fill a tile.
inline void gemm_edge(int64_t rows, int64_t n, int64_t k, const double* a, int64_t lda, const double* b, int64_t ldb,
                      double* c, int64_t ldc) {
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t p = 0; p < k; ++p) axpy_run(a[r * lda + p], b + p * ldb, c + r * ldc, n);
  }
}

void gemm_run(int64_t m, int64_t n, int64_t k, const double* a, int64_t lda, const double* b, int64_t ldb, double* c,
              int64_t ldc) {
  constexpr int kRows = MD_LEVEL_BYTES >= 64 ? 8 : 4;
  constexpr int64_t kDepth = 256;
  int64_t tiled = n / (2 * kDoubles) * (2 * kDoubles);
  for (int64_t p = 0; p < k; p += kDepth) {
    int64_t depth = k - p < kDepth ? k - p : kDepth;
    const double* b_block = b + p * ldb;
    for (int64_t j = 0; j < tiled; j += 2 * kDoubles) {
      int64_t i = 0;
      for (; i + kRows <= m; i += kRows)
        gemm_tile<kRows>(depth, a + i * lda + p, lda, b_block + j, ldb, c + i * ldc + j, ldc);
      for (; i < m; ++i) gemm_tile<1>(depth, a + i * lda + p, lda, b_block + j, ldb, c + i * ldc + j, ldc);
    }
    if (tiled < n) gemm_edge(m, n - tiled, depth, a + p, lda, b_block + tiled, ldb, c + tiled, ldc);
  }
}

constexpr void fill_blocks(LoopTable& table) {
  table.sum_f32 = sum_run<float>;
  table.sum_f64 = sum_run<double>;
  table.max_f32 = extreme_run<float, true>;
  table.max_f64 = extreme_run<double, true>;
  table.min_f32 = extreme_run<float, false>;
  table.min_f64 = extreme_run<double, false>;
  table.gemm_f64 = gemm_run;
  table.dot_f32 = dot_run<float>;
  table.dot_f64 = dot_run<double>;
  table.axpy_f32 = axpy_run<float>;
  table.axpy_f64 = axpy_run<double>;
  table.exp_sum_f32 = exp_sum_run<float>;
  table.exp_sum_f64 = exp_sum_run<double>;
}
