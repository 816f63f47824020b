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

template <typename T, bool Max>
void extreme_loop(const void* src, int64_t n, void* best) {
  *static_cast<T*>(best) = extreme_run<T, Max>(static_cast<const T*>(src), n);
}

// Whole blocks are looked through, so that the compiler can compare vectors.
template <typename T>
int64_t find_loop(const void* src, int64_t n, const void* value) {
  const T* values = static_cast<const T*>(src);
  T wanted = *static_cast<const T*>(value);
  bool is_nan = wanted != wanted;
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    int hits = 0;
    for (int lane = 0; lane < kLanes; ++lane) {
      T element = values[i + lane];
      hits |= (element == wanted) | (is_nan & (element != element));
    }
    if (hits != 0) break;
  }
  for (; i < n; ++i)
    if (values[i] == wanted || (is_nan && values[i] != values[i])) return i;
  return -1;
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

// A tile of c, kTileRows x kTileColumns, is kept in registers over a stretch of k.
constexpr int kTileRows = MD_LEVEL_BYTES >= 64 ? 8 : 4;
constexpr int kTileColumns = 2 * kDoubles;
constexpr int64_t kDepth = 256;           // of k at a time
constexpr int64_t kBlockRows = 96;        // of a, packed: 192 KiB
constexpr int64_t kBlockColumns = 256;    // of b, packed: 512 KiB
constexpr int64_t kPackFrom = 96 * 96 * 96;  // below, packing costs more than it saves

// a's element (r, p) is at a[r * a_row + p * a_step], b's row p at b + p * b_row.
template <int Rows>
inline void gemm_tile(int64_t k, const double* a, int64_t a_row, int64_t a_step, const double* b, int64_t b_row,
                      double* c, int64_t ldc) {
  DoubleVector left[Rows], right[Rows];
  for (int r = 0; r < Rows; ++r) {
    left[r] = *reinterpret_cast<const DoubleVector*>(c + r * ldc);
    right[r] = *reinterpret_cast<const DoubleVector*>(c + r * ldc + kDoubles);
  }
  for (int64_t p = 0; p < k; ++p) {
    DoubleVector b_left = *reinterpret_cast<const DoubleVector*>(b + p * b_row);
    DoubleVector b_right = *reinterpret_cast<const DoubleVector*>(b + p * b_row + kDoubles);
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
      double scale = a[r * a_row + p * a_step];
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

inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

void gemm_in_place(int64_t m, int64_t n, int64_t k, const double* a, int64_t lda, const double* b, int64_t ldb,
                   double* c, int64_t ldc) {
  int64_t tiled = n / kTileColumns * kTileColumns;
  for (int64_t p = 0; p < k; p += kDepth) {
    int64_t depth = least(k - p, kDepth);
    const double* b_block = b + p * ldb;
    for (int64_t j = 0; j < tiled; j += kTileColumns) {
      int64_t i = 0;
      for (; i + kTileRows <= m; i += kTileRows)
        gemm_tile<kTileRows>(depth, a + i * lda + p, lda, 1, b_block + j, ldb, c + i * ldc + j, ldc);
      for (; i < m; ++i) gemm_tile<1>(depth, a + i * lda + p, lda, 1, b_block + j, ldb, c + i * ldc + j, ldc);
    }
    if (tiled < n) gemm_edge(m, n - tiled, depth, a + p, lda, b_block + tiled, ldb, c + tiled, ldc);
  }
}

// Strips of one tile's columns, one after another, what is missing in the last one as zeros.
inline void pack_columns(const double* b, int64_t ldb, int64_t depth, int64_t n, double* packed) {
  for (int64_t j = 0; j < n; j += kTileColumns) {
    int64_t width = least(n - j, kTileColumns);
    for (int64_t p = 0; p < depth; ++p) {
      for (int64_t x = 0; x < width; ++x) packed[x] = b[p * ldb + j + x];
      for (int64_t x = width; x < kTileColumns; ++x) packed[x] = 0;
      packed += kTileColumns;
    }
  }
}

// Strips of one tile's rows, column by column.
inline void pack_rows(const double* a, int64_t lda, int64_t m, int64_t depth, double* packed) {
  for (int64_t i = 0; i < m; i += kTileRows) {
    int64_t height = least(m - i, kTileRows);
    for (int64_t p = 0; p < depth; ++p) {
      for (int64_t y = 0; y < height; ++y) packed[y] = a[(i + y) * lda + p];
      for (int64_t y = height; y < kTileRows; ++y) packed[y] = 0;
      packed += kTileRows;
    }
  }
}

// A tile at the edge of c goes through a whole one.
inline void packed_tile(int64_t depth, const double* a, const double* b, int64_t height, int64_t width, double* c,
                        int64_t ldc) {
  if (height == kTileRows && width == kTileColumns)
    return gemm_tile<kTileRows>(depth, a, 1, kTileRows, b, kTileColumns, c, ldc);
  double whole[kTileRows * kTileColumns] = {};
  gemm_tile<kTileRows>(depth, a, 1, kTileRows, b, kTileColumns, whole, kTileColumns);
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < width; ++x) c[y * ldc + x] += whole[y * kTileColumns + x];
  }
}

void gemm_packed(int64_t m, int64_t n, int64_t k, const double* a, int64_t lda, const double* b, int64_t ldb, double* c,
                 int64_t ldc, double* packed_a, double* packed_b) {
  for (int64_t j = 0; j < n; j += kBlockColumns) {
    int64_t columns = least(n - j, kBlockColumns);
    for (int64_t p = 0; p < k; p += kDepth) {
      int64_t depth = least(k - p, kDepth);
      pack_columns(b + p * ldb + j, ldb, depth, columns, packed_b);
      for (int64_t i = 0; i < m; i += kBlockRows) {
        int64_t rows = least(m - i, kBlockRows);
        pack_rows(a + i * lda + p, lda, rows, depth, packed_a);
        for (int64_t x = 0; x < columns; x += kTileColumns) {
          for (int64_t y = 0; y < rows; y += kTileRows) {
            packed_tile(depth, packed_a + y * depth, packed_b + x * depth, least(rows - y, kTileRows),
                        least(columns - x, kTileColumns), c + (i + y) * ldc + j + x, ldc);
          }
        }
      }
    }
  }
}

void gemm_run(int64_t m, int64_t n, int64_t k, const double* a, int64_t lda, const double* b, int64_t ldb, double* c,
              int64_t ldc) {
  double* packed = nullptr;
  if (m * n * k >= kPackFrom)
    packed = static_cast<double*>(malloc((kBlockRows + kBlockColumns) * kDepth * sizeof(double)));
  if (packed == nullptr) return gemm_in_place(m, n, k, a, lda, b, ldb, c, ldc);
  gemm_packed(m, n, k, a, lda, b, ldb, c, ldc, packed, packed + kBlockRows * kDepth);
  free(packed);
}

template <typename T>
constexpr void fill_search(LoopTable& table, DType dtype) {
  if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
    table.extreme[static_cast<int>(dtype)][0] = extreme_loop<T, false>;
    table.extreme[static_cast<int>(dtype)][1] = extreme_loop<T, true>;
    table.find[static_cast<int>(dtype)] = find_loop<T>;
  }
}

constexpr void fill_blocks(LoopTable& table) {
#define MD_DTYPE(name, ctype, category, short_name, python_name) fill_search<ctype>(table, DType::name);
#include "tensor/dtypes.def"
#undef MD_DTYPE
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
