// Products of complex matrices whose right one has contiguous rows: tiles of the result in registers. One half sums the
// rows of b times the real parts of a, the other one times the imaginary parts.

constexpr int kProductRows = 4;
constexpr int kProductVectors = MD_LEVEL_BYTES == 64 ? 2 : 1;
constexpr int64_t kProductSteps = 128;  // that are summed at a time, for which a piece of b stays in the L1 cache

template <typename T>
constexpr int64_t kProductColumns = kProductVectors * kVector<T> / 2;

// columns: of the tile that c has. b has kProductColumns in each row. adds: to what c holds.
template <typename T, int Rows>
inline void multiply_tile(const ComplexProduct<T>& p, int64_t k, const Complex<T>* a, const T* b, int64_t b_row,
                          Complex<T>* c, int64_t columns, bool adds) {
  Vector<T> by_re[Rows][kProductVectors] = {}, by_im[Rows][kProductVectors] = {};
  for (int64_t step = 0; step < k; ++step) {
    Vector<T> row[kProductVectors];
#pragma GCC unroll 2
    for (int v = 0; v < kProductVectors; ++v) row[v] = load_vector(b + step * b_row + v * kVector<T>);
#pragma GCC unroll 4
    for (int i = 0; i < Rows; ++i) {
      const Complex<T>& factor = a[i * p.a_row + step * p.a_step];
#pragma GCC unroll 2
      for (int v = 0; v < kProductVectors; ++v) {
        by_re[i][v] += factor.re * row[v];
        by_im[i][v] += factor.im * row[v];
      }
    }
  }
#pragma GCC unroll 4
  for (int i = 0; i < Rows; ++i) {
    T* to = reinterpret_cast<T*>(c + i * p.c_row);
    T sums[kProductVectors * kVector<T>];
    bool is_whole = columns == kProductColumns<T>;
    T* into = is_whole ? to : sums;
    if (adds && !is_whole) __builtin_memcpy(sums, to, size_t(columns) * sizeof(Complex<T>));
#pragma GCC unroll 2
    for (int v = 0; v < kProductVectors; ++v) {
      Vector<T> sum = by_re[i][v] + part_negative<T, 0>(parts_swapped<T>(by_im[i][v], kLanes<T>), kLanes<T>);
      if (adds) sum += load_vector(into + v * kVector<T>);
      store_vector<T>(sum, into + v * kVector<T>);
    }
    if (!is_whole) __builtin_memcpy(to, sums, size_t(columns) * sizeof(Complex<T>));
  }
}

template <typename T>
void multiply_columns(const ComplexProduct<T>& p, int64_t k, const Complex<T>* a, const T* b, int64_t b_row,
                      Complex<T>* c, int64_t columns, bool adds) {
  int64_t i = 0;
  for (; i + kProductRows <= p.m; i += kProductRows) {
    multiply_tile<T, kProductRows>(p, k, a + i * p.a_row, b, b_row, c + i * p.c_row, columns, adds);
  }
  const Complex<T>* left = a + i * p.a_row;
  Complex<T>* to = c + i * p.c_row;
  switch (p.m - i) {
    case 3:
      return multiply_tile<T, 3>(p, k, left, b, b_row, to, columns, adds);
    case 2:
      return multiply_tile<T, 2>(p, k, left, b, b_row, to, columns, adds);
    case 1:
      return multiply_tile<T, 1>(p, k, left, b, b_row, to, columns, adds);
    default:
      return;
  }
}

template <typename T>
void multiply_complex_run(const ComplexProduct<T>& p) {
  for (int64_t first = 0; first < p.k; first += kProductSteps) {
    int64_t k = p.k - first < kProductSteps ? p.k - first : kProductSteps;
    const Complex<T>* a = p.a + first * p.a_step;
    const Complex<T>* b = p.b + first * p.b_row;
    int64_t j = 0;
    for (; j + kProductColumns<T> <= p.n; j += kProductColumns<T>) {
      const T* columns = reinterpret_cast<const T*>(b + j);
      multiply_columns(p, k, a, columns, 2 * p.b_row, p.c + j, kProductColumns<T>, first > 0);
    }
    if (j == p.n) continue;
    // The last column is repeated: it raises no exception that it does not raise once.
    Complex<T> rest[kProductSteps * kProductColumns<T>];
    for (int64_t step = 0; step < k; ++step) {
      for (int64_t x = 0; x < kProductColumns<T>; ++x)
        rest[step * kProductColumns<T> + x] = b[step * p.b_row + (j + x < p.n ? j + x : p.n - 1)];
    }
    multiply_columns(p, k, a, reinterpret_cast<const T*>(rest), 2 * kProductColumns<T>, p.c + j, p.n - j, first > 0);
  }
}

template <typename T>
constexpr ComplexLoops<T> complex_loops() {
  return {.sum = complex_sum_run<T>, .dot = complex_dot_run<T>, .multiply = multiply_complex_run<T>};
}
