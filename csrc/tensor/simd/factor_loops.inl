// The inner loops of decompositions of matrices, float and double, whose columns are contiguous.

constexpr int kUpdateVectors = MD_LEVEL_BYTES >= 32 ? 3 : 2;
constexpr int kUpdateColumns = MD_LEVEL_BYTES >= 64 ? 8 : 4;

// The first `count` elements of a vector, zeros behind them; count may be more than there are.
template <typename T>
inline __attribute__((always_inline)) Vector<T> load_leading(const T* src, int64_t count) {
  if (count >= kVector<T>) return load_vector(src);
#if MD_LEVEL_BYTES == 64
  if constexpr (sizeof(T) == 4) return Vector<T>(_mm512_maskz_loadu_ps(__mmask16((1u << count) - 1), src));
  if constexpr (sizeof(T) == 8) return Vector<T>(_mm512_maskz_loadu_pd(__mmask8((1u << count) - 1), src));
#endif
  Vector<T> vector = {};
  for (int64_t i = 0; i < count; ++i) vector[i] = src[i];
  return vector;
}

template <typename T>
inline __attribute__((always_inline)) void store_leading(Vector<T> vector, T* dst, int64_t count) {
  if (count >= kVector<T>) return store_vector<T>(vector, dst);
#if MD_LEVEL_BYTES == 64
  if constexpr (sizeof(T) == 4) return _mm512_mask_storeu_ps(dst, __mmask16((1u << count) - 1), (__m512)vector);
  if constexpr (sizeof(T) == 8) return _mm512_mask_storeu_pd(dst, __mmask8((1u << count) - 1), (__m512d)vector);
#endif
  for (int64_t i = 0; i < count; ++i) dst[i] = vector[i];
}

// Rows [0, rows) of some columns, rows at most Vectors vectors: `rows` counts in the last one.
template <typename T, int Vectors, int Columns>
inline __attribute__((always_inline)) void update_tile(const ProductUpdate<T>& update, const T* a, const T* b, T* c,
                                                       int64_t last) {
  constexpr int64_t kWhole = int64_t(Vectors - 1) * kVector<T>;
  Vector<T> sums[Columns][Vectors];
#pragma GCC unroll 8
  for (int x = 0; x < Columns; ++x) {
#pragma GCC unroll 3
    for (int v = 0; v < Vectors - 1; ++v) sums[x][v] = load_vector(c + x * update.c_step + v * kVector<T>);
    sums[x][Vectors - 1] = load_leading(c + x * update.c_step + kWhole, last);
  }
  auto step = [&]<bool IsWhole>(int64_t p) __attribute__((always_inline)) {
    const T* from = a + p * update.a_step;
    Vector<T> column[Vectors];
#pragma GCC unroll 3
    for (int v = 0; v < Vectors - 1; ++v) column[v] = load_vector(from + v * kVector<T>);
    column[Vectors - 1] = IsWhole ? load_vector(from + kWhole) : load_leading(from + kWhole, last);
#pragma GCC unroll 8
    for (int x = 0; x < Columns; ++x) {
      Vector<T> factor = b[p * update.b_row + x * update.b_step] - Vector<T>{};
#pragma GCC unroll 3
      for (int v = 0; v < Vectors; ++v) sums[x][v] -= column[v] * factor;
    }
  };
  if (last >= kVector<T>) {
    for (int64_t p = 0; p < update.k; ++p) step.template operator()<true>(p);
  } else {
    for (int64_t p = 0; p < update.k; ++p) step.template operator()<false>(p);
  }
#pragma GCC unroll 8
  for (int x = 0; x < Columns; ++x) {
#pragma GCC unroll 3
    for (int v = 0; v < Vectors - 1; ++v) store_vector<T>(sums[x][v], c + x * update.c_step + v * kVector<T>);
    store_leading<T>(sums[x][Vectors - 1], c + x * update.c_step + kWhole, last);
  }
}

template <typename T, int Columns>
void update_columns(const ProductUpdate<T>& update, int64_t x) {
  const T* b = update.b + x * update.b_step;
  T* c = update.c + x * update.c_step;
  constexpr int64_t kTile = kUpdateVectors * kVector<T>;
  int64_t i = 0;
  for (; i + kTile <= update.m; i += kTile)
    update_tile<T, kUpdateVectors, Columns>(update, update.a + i, b, c + i, kVector<T>);
  int64_t rest = update.m - i;
  if (rest == 0) return;
  if (rest <= kVector<T>) {
    update_tile<T, 1, Columns>(update, update.a + i, b, c + i, rest);
  } else if (rest <= 2 * kVector<T>) {
    update_tile<T, 2, Columns>(update, update.a + i, b, c + i, rest - kVector<T>);
  } else {
    update_tile<T, kUpdateVectors, Columns>(update, update.a + i, b, c + i, rest - (kUpdateVectors - 1) * kVector<T>);
  }
}

template <typename T>
void update_run(const ProductUpdate<T>& update) {
  for_row_tiles<kUpdateColumns>(update.n, 0, [&]<int Columns>(int64_t at) { update_columns<T, Columns>(update, at); });
}

// dst[i] -= src[i] * factors[x] for some columns dst.
template <typename T, int Columns>
inline void subtract_scaled(const T* src, const T* factors, int64_t step, T* dst, int64_t n) {
  for (int64_t i = 0; i < n; i += kVector<T>) {
    Vector<T> column = load_leading(src + i, n - i);
#pragma GCC unroll 4
    for (int x = 0; x < Columns; ++x) {
      T* place = dst + x * step + i;
      store_leading<T>(load_leading(place, n - i) - column * factors[x * step], place, n - i);
    }
  }
}

// Row k's columns behind k are the factors.
template <typename T>
inline void eliminate(T* a, int64_t step, int64_t k, int64_t rows, int64_t columns) {
  for_row_tiles<4>(columns, k + 1, [&]<int Columns>(int64_t x) {
    T* head = a + x * step + k;
    subtract_scaled<T, Columns>(a + k * step + k + 1, head, step, head + 1, rows - k - 1);
  });
}

template <typename T>
inline T magnitude_of(T value) {
  return value < 0 ? -value : value;
}

// The first of the largest magnitudes; NaNs are none, but at the beginning.
template <typename T>
inline int64_t largest_place(const T* src, int64_t n) {
  T largest = magnitude_of(src[0]);
  if (largest != largest) return 0;
  int64_t place = 0, i = 1;
  if (n > 4 * kVector<T>) {
    Vector<T> most = largest - Vector<T>{};
    for (i = 0; i + kVector<T> <= n; i += kVector<T>) {
      Vector<T> value = load_vector(src + i), size = value < 0 ? -value : value;
      most = size > most ? size : most;
    }
    for (int lane = 0; lane < kVector<T>; ++lane) largest = most[lane] > largest ? most[lane] : largest;
    for (int64_t at = i; at < n; ++at) largest = magnitude_of(src[at]) > largest ? magnitude_of(src[at]) : largest;
    while (magnitude_of(src[place]) != largest) ++place;
    return place;
  }
  for (; i < n; ++i) {
    T size = magnitude_of(src[i]);
    place = size > largest ? i : place;
    largest = size > largest ? size : largest;
  }
  return place;
}

template <typename T>
constexpr T kSmallestNormal = sizeof(T) == 4 ? T(0x1p-126) : T(0x1p-1022);

template <typename T>
inline void divide_column(T* column, int64_t n, T divisor) {
  if (magnitude_of(divisor) >= kSmallestNormal<T>) {
    T factor = 1 / divisor;
    for (int64_t i = 0; i < n; i += kVector<T>)
      store_leading<T>(load_leading(column + i, n - i) * factor, column + i, n - i);
  } else {
    for (int64_t i = 0; i < n; ++i) column[i] /= divisor;
  }
}

template <typename T>
using Places = VectorIndex<T>;
template <typename T, size_t... I>
inline Places<T> counting_places(std::index_sequence<I...>) {
  return Places<T>{(int(I) + 0)...};
}
template <typename T>
inline Places<T> all_places() {
  return counting_places<T>(std::make_index_sequence<size_t(kVector<T>)>());
}
template <typename T>
inline Places<T> all_at(int64_t place) {
  return Places<T>{} + std::conditional_t<sizeof(T) == 4, int32_t, int64_t>(place);
}

// A matrix whose columns fit in a vector: each is loaded and stored whole. What is read from it then comes from the
// store before, which processors do not pass on where it was masked, or began elsewhere.
template <typename T>
struct VectorColumns {
  alignas(MD_LEVEL_BYTES) T columns[kFactorColumns][kVector<T>];

  void read(const T* a, int64_t step, int64_t rows, int64_t count) {
    for (int64_t x = 0; x < count; ++x) set(x, load_leading(a + x * step, rows));
  }
  void write(T* a, int64_t step, int64_t rows, int64_t count) const {
    for (int64_t x = 0; x < count; ++x) store_leading<T>(get(x), a + x * step, rows);
  }
  Vector<T> get(int64_t x) const { return load_vector(columns[x]); }
  void set(int64_t x, Vector<T> column) { store_vector<T>(column, columns[x]); }
};

// The elements behind row k of a column over its head, zeros before them; the column with them in `kept`.
template <typename T>
inline Vector<T> factors_below(Vector<T> column, T head, int64_t k, Vector<T>& kept) {
  Vector<T> divided = magnitude_of(head) >= kSmallestNormal<T> ? column * (1 / head) : column / head;
  auto is_below = all_at<T>(k) < all_places<T>();
  kept = is_below ? divided : column;
  return is_below ? divided : Vector<T>{};
}

template <typename T>
int64_t lu_of_vectors(T* a, int64_t step, int64_t rows, int64_t columns, bool pivots, int32_t* places) {
  VectorColumns<T> matrix;
  matrix.read(a, step, rows, columns);
  int64_t first_zero = 0;
  for (int64_t k = 0; k < least(rows, columns); ++k) {
    const T* column = matrix.columns[k];
    int64_t at = pivots ? k + largest_place(column + k, rows - k) : k;
    places[k] = int32_t(at);
    T head = column[at];
    if (head == 0 && first_zero == 0) first_zero = k + 1;
    Places<T> order = all_places<T>() == all_at<T>(k)    ? all_at<T>(at)
                      : all_places<T>() == all_at<T>(at) ? all_at<T>(k)
                                                         : all_places<T>();
    for (int64_t x = 0; x < k && at != k; ++x) matrix.set(x, __builtin_shuffle(matrix.get(x), order));
    Vector<T> kept = __builtin_shuffle(matrix.get(k), order);
    Vector<T> factors = factors_below<T>(kept, head == 0 ? T(1) : head, k, kept);
    matrix.set(k, kept);
    for (int64_t x = k + 1; x < columns; ++x) {
      T scale = matrix.columns[x][at];
      matrix.set(x, __builtin_shuffle(matrix.get(x), order) - factors * scale);
    }
  }
  matrix.write(a, step, rows, columns);
  return first_zero;
}

template <typename T>
int64_t lu_run(T* a, int64_t step, int64_t rows, int64_t columns, bool pivots, int32_t* places) {
  if (rows <= kVector<T>) return lu_of_vectors(a, step, rows, columns, pivots, places);
  int64_t first_zero = 0;
  for (int64_t k = 0; k < least(rows, columns); ++k) {
    T* column = a + k * step;
    int64_t at = pivots ? k + largest_place(column + k, rows - k) : k;
    places[k] = int32_t(at);
    if (column[at] == 0) {
      if (first_zero == 0) first_zero = k + 1;
    } else {
      if (at != k) {
        for (int64_t x = 0; x < columns; ++x) {
          T upper = a[x * step + k];
          a[x * step + k] = a[x * step + at];
          a[x * step + at] = upper;
        }
      }
      divide_column(column + k + 1, rows - k - 1, column[k]);
    }
    eliminate(a, step, k, rows, columns);
  }
  return first_zero;
}

template <typename T>
inline T root_of(T value) {
  return sizeof(T) == 4 ? T(__builtin_sqrtf(float(value))) : T(__builtin_sqrt(double(value)));
}

template <typename T>
int64_t cholesky_of_vectors(T* a, int64_t step, int64_t n) {
  VectorColumns<T> matrix;
  matrix.read(a, step, n, n);
  int64_t failed = 0;
  for (int64_t k = 0; k < n && failed == 0; ++k) {
    T head = matrix.columns[k][k];
    if (!(head > 0)) {
      failed = k + 1;
      break;
    }
    T root = root_of(head);
    Vector<T> kept;
    Vector<T> factors = factors_below<T>(matrix.get(k), root, k, kept);
    matrix.set(k, all_places<T>() == all_at<T>(k) ? root - Vector<T>{} : kept);
    for (int64_t x = k + 1; x < n; ++x) matrix.set(x, matrix.get(x) - factors * matrix.columns[k][x]);
  }
  matrix.write(a, step, n, n);
  return failed;
}

template <typename T>
int64_t cholesky_run(T* a, int64_t step, int64_t n) {
  if (n <= kVector<T>) return cholesky_of_vectors(a, step, n);
  for (int64_t k = 0; k < n; ++k) {
    T* column = a + k * step;
    if (!(column[k] > 0)) return k + 1;
    T root = root_of(column[k]);
    column[k] = root;
    divide_column(column + k + 1, n - k - 1, root);
    for (int64_t x = k + 1; x < n; ++x) subtract_scaled<T, 1>(column + x, column + x, 0, a + x * step + x, n - x);
  }
  return 0;
}

// Some right sides at a time, as rows of vectors.
template <typename T>
struct SideRows {
  Vector<T> rows[kFactorColumns];
};

template <typename T>
inline void substitute(const TriangleSolve<T>& solve, SideRows<T>& x) {
  for (int64_t k = 0; k < solve.n; ++k) {
    if (!solve.has_ones) x.rows[k] /= solve.l[k * solve.l_row + k * solve.l_step] - Vector<T>{};
    Vector<T> known = x.rows[k];
    const T* factor = solve.l + k * solve.l_step;
    for (int64_t i = k + 1; i < solve.n; ++i) x.rows[i] -= factor[i * solve.l_row] * known;
  }
}

// kVector right sides, each contiguous, forward or backward, whose length is a multiple of kVector.
template <typename T>
inline void solve_turned(const TriangleSolve<T>& solve, T* b) {
  bool is_backward = solve.b_row < 0;
  T* first = is_backward ? b - (solve.n - 1) : b;
  auto place = [&](int64_t row) { return is_backward ? solve.n - 1 - row : row; };
  SideRows<T> x;
  for (int64_t p = 0; p < solve.n; p += kVector<T>) {
    Vector<T> tile[kVector<T>];
#pragma GCC unroll 16
    for (int j = 0; j < kVector<T>; ++j) tile[j] = load_vector(first + j * solve.b_step + p);
    transpose_vectors<T, kVector<T>>(tile);
#pragma GCC unroll 16
    for (int j = 0; j < kVector<T>; ++j) x.rows[place(p + j)] = tile[j];
  }
  substitute(solve, x);
  for (int64_t p = 0; p < solve.n; p += kVector<T>) {
    Vector<T> tile[kVector<T>];
#pragma GCC unroll 16
    for (int j = 0; j < kVector<T>; ++j) tile[j] = x.rows[place(p + j)];
    transpose_vectors<T, kVector<T>>(tile);
#pragma GCC unroll 16
    for (int j = 0; j < kVector<T>; ++j) store_vector<T>(tile[j], first + j * solve.b_step + p);
  }
}

template <typename T>
inline void solve_some(const TriangleSolve<T>& solve, T* b, int64_t count) {
  SideRows<T> x;
  for (int64_t p = 0; p < solve.n; ++p) {
    if (solve.b_step == 1) {
      x.rows[p] = load_leading(b + p * solve.b_row, count);
    } else {
      T row[kVector<T>] = {};
      for (int64_t j = 0; j < count; ++j) row[j] = b[p * solve.b_row + j * solve.b_step];
      x.rows[p] = load_vector(row);
    }
  }
  substitute(solve, x);
  for (int64_t p = 0; p < solve.n; ++p) {
    if (solve.b_step == 1) {
      store_leading<T>(x.rows[p], b + p * solve.b_row, count);
    } else {
      T row[kVector<T>];
      store_vector<T>(x.rows[p], row);
      for (int64_t j = 0; j < count; ++j) b[p * solve.b_row + j * solve.b_step] = row[j];
    }
  }
}

// One right side.
template <typename T>
inline void solve_one(const TriangleSolve<T>& solve, T* b) {
  for (int64_t k = 0; k < solve.n; ++k) {
    T known = b[k * solve.b_row];
    if (!solve.has_ones) known /= solve.l[k * solve.l_row + k * solve.l_step];
    b[k * solve.b_row] = known;
    const T* factor = solve.l + k * solve.l_step;
    for (int64_t i = k + 1; i < solve.n; ++i) b[i * solve.b_row] -= factor[i * solve.l_row] * known;
  }
}

// Right sides that fit in a vector each: x[k] * column k of l is taken from what is below.
template <typename T>
inline void solve_vectors(const TriangleSolve<T>& solve) {
  int64_t n = solve.n;
  bool is_backward = solve.b_row < 0;
  VectorColumns<T> l;
  auto place = [&](int64_t row) { return is_backward ? n - 1 - row : row; };
  for (int64_t k = 0; k < n; ++k) {
    T column[kVector<T>] = {};
    for (int64_t i = k + 1; i < n; ++i) column[place(i)] = solve.l[i * solve.l_row + k * solve.l_step];
    l.set(k, load_vector(column));
  }
  for_row_tiles<4>(solve.count, 0, [&]<int Columns>(int64_t j) {
    T* b = solve.b + j * solve.b_step - (is_backward ? n - 1 : 0);
    Vector<T> x[Columns];
    for (int c = 0; c < Columns; ++c) x[c] = load_leading(b + c * solve.b_step, n);
    for (int64_t k = 0; k < n; ++k) {
      Places<T> at = all_at<T>(place(k));
      // What is solved already does not meet 0 times infinity.
      auto is_here = all_places<T>() == at, is_behind = is_backward ? all_places<T>() < at : at < all_places<T>();
      Vector<T> divisor = (solve.has_ones ? T(1) : solve.l[k * (solve.l_row + solve.l_step)]) - Vector<T>{};
      Vector<T> factors = l.get(k);
#pragma GCC unroll 4
      for (int c = 0; c < Columns; ++c) {
        Vector<T> known = __builtin_shuffle(x[c], at) / divisor;
        x[c] = is_here ? known : is_behind ? x[c] - factors * known : x[c];
      }
    }
    for (int c = 0; c < Columns; ++c) store_leading<T>(x[c], b + c * solve.b_step, n);
  });
}

template <typename T>
void solve_lower_run(const TriangleSolve<T>& solve) {
  bool is_contiguous = solve.b_row == 1 || solve.b_row == -1;
  if (is_contiguous && solve.n <= kVector<T> && solve.n * 2 <= kFactorColumns) return solve_vectors(solve);
  bool turns = is_contiguous && solve.b_step != 1 && solve.n % kVector<T> == 0;
  for (int64_t j = 0; j < solve.count; j += kVector<T>) {
    int64_t count = least(solve.count - j, kVector<T>);
    T* b = solve.b + j * solve.b_step;
    if (count <= 2) {
      for (int64_t x = 0; x < count; ++x) solve_one(solve, b + x * solve.b_step);
    } else if (turns && count == kVector<T>) {
      solve_turned(solve, b);
    } else {
      solve_some(solve, b, count);
    }
  }
}

// The sum of squares may overflow where the norm does not.
template <typename T>
inline double norm_of(const T* x, int64_t n) {
  double lanes[8] = {}, total = 0;
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    for (int lane = 0; lane < 8; ++lane) lanes[lane] += double(x[i + lane]) * double(x[i + lane]);
  }
  for (; i < n; ++i) total += double(x[i]) * double(x[i]);
  for (double lane : lanes) total += lane;
  if (sizeof(T) == 4 || n == 0 || (total > 0x1p-960 && total < 0x1p960)) return __builtin_sqrt(total);
  double largest = 0;
  for (i = 0; i < n; ++i) {
    double size = __builtin_fabs(double(x[i]));
    largest = size > largest || size != size ? size : largest;
  }
  if (largest == 0 || !(largest < __builtin_inf())) return largest;
  total = 0;
  for (i = 0; i < n; ++i) total += double(x[i]) / largest * (double(x[i]) / largest);
  return largest * __builtin_sqrt(total);
}

// Of some columns c, with their heads: c -= (1, v) * tau * ((1, v) . c).
template <typename T, int Columns>
inline void reflect_columns(const T* v, int64_t n, T tau, T* c, int64_t step) {
  Vector<T> sums[Columns] = {};
  for (int64_t i = 0; i < n; i += kVector<T>) {
    Vector<T> part = load_leading(v + i, n - i);
#pragma GCC unroll 4
    for (int x = 0; x < Columns; ++x) sums[x] += part * load_leading(c + x * step + 1 + i, n - i);
  }
  T factors[Columns];
#pragma GCC unroll 4
  for (int x = 0; x < Columns; ++x) {
    factors[x] = tau * (c[x * step] + fold_vector<T>(sums[x]));
    c[x * step] -= factors[x];
  }
  for (int64_t i = 0; i < n; i += kVector<T>) {
    Vector<T> part = load_leading(v + i, n - i);
#pragma GCC unroll 4
    for (int x = 0; x < Columns; ++x) {
      T* place = c + x * step + 1 + i;
      store_leading<T>(load_leading(place, n - i) - part * factors[x], place, n - i);
    }
  }
}

template <typename T>
void reflect_run(const T* v, int64_t n, T tau, T* c, int64_t step, int64_t columns) {
  if (tau == 0) return;
  for_row_tiles<4>(columns, 0,
                   [&]<int Columns>(int64_t x) { reflect_columns<T, Columns>(v, n, tau, c + x * step, step); });
}

template <typename T>
void qr_run(T* a, int64_t step, int64_t rows, int64_t columns, T* taus) {
  for (int64_t k = 0; k < least(rows, columns); ++k) {
    T* column = a + k * step + k;
    int64_t below = rows - k - 1;
    double head = double(column[0]), rest = norm_of(column + 1, below);
    taus[k] = 0;
    if (rest == 0) continue;
    double norm = __builtin_hypot(head, rest), beta = head < 0 || (head == 0 && __builtin_signbit(head)) ? norm : -norm;
    taus[k] = T((beta - head) / beta);
    divide_column(column + 1, below, T(head - beta));
    column[0] = T(beta);
    reflect_run(column + 1, below, taus[k], column + step, step, columns - k - 1);
  }
}

template <typename T>
constexpr FactorLoops<T> factor_loops() {
  return {update_run<T>, lu_run<T>, cholesky_run<T>, solve_lower_run<T>, qr_run<T>, reflect_run<T>};
}
