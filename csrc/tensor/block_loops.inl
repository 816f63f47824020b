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

// A tile of Rows x Columns of c is kept in registers over the whole of k.
template <int Rows, int Columns>
inline void gemm_tile(int64_t k, const double* a, int64_t lda, const double* b, int64_t ldb, double* c, int64_t ldc) {
  double acc[Rows][Columns];
  for (int r = 0; r < Rows; ++r) {
    for (int j = 0; j < Columns; ++j) acc[r][j] = c[r * ldc + j];
  }
  for (int64_t p = 0; p < k; ++p) {
    for (int r = 0; r < Rows; ++r) {
      double scale = a[r * lda + p];
#pragma GCC ivdep
      for (int j = 0; j < Columns; ++j) acc[r][j] += scale * b[p * ldb + j];
    }
  }
  for (int r = 0; r < Rows; ++r) {
    for (int j = 0; j < Columns; ++j) c[r * ldc + j] = acc[r][j];
  }
}

template <int Rows>
inline void gemm_rows(int64_t n, int64_t k, const double* a, int64_t lda, const double* b, int64_t ldb, double* c,
                      int64_t ldc) {
  int64_t j = 0;
  for (; j + 16 <= n; j += 16) gemm_tile<Rows, 16>(k, a, lda, b + j, ldb, c + j, ldc);
  for (; j + 4 <= n; j += 4) gemm_tile<Rows, 4>(k, a, lda, b + j, ldb, c + j, ldc);
  for (; j < n; ++j) gemm_tile<Rows, 1>(k, a, lda, b + j, ldb, c + j, ldc);
}

void gemm_run(int64_t m, int64_t n, int64_t k, const double* a, int64_t lda, const double* b, int64_t ldb, double* c,
              int64_t ldc) {
  constexpr int64_t kDepth = 256;
  for (int64_t p = 0; p < k; p += kDepth) {
    int64_t depth = k - p < kDepth ? k - p : kDepth;
    const double* b_block = b + p * ldb;
    int64_t i = 0;
    for (; i + 4 <= m; i += 4) gemm_rows<4>(n, depth, a + i * lda + p, lda, b_block, ldb, c + i * ldc, ldc);
    for (; i < m; ++i) gemm_rows<1>(n, depth, a + i * lda + p, lda, b_block, ldb, c + i * ldc, ldc);
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
