// Products of few rows, float and double, that read b where it is, by whole rows or by dot products with its columns;
// and the two halves of gemm_rows.

// Rows of sums and rows of b in one step of a streamed product: their factors stay in registers.
constexpr int kStreamRows = MD_LEVEL_BYTES >= 64 ? 4 : 2;
constexpr int kStreamSteps = MD_LEVEL_BYTES >= 64 ? 6 : 4;
// Of a single row of sums, of which two vectors are added to at a time. Where rows of b are short and come from memory,
// the next ones come into the L2 cache meanwhile: the processor follows addresses no further than the end of a row.
// Rows that are in a cache would only wait for that.
constexpr int kLoneRowSteps = 8;
constexpr int64_t kMostBytesAhead = 64 << 10;

// The columns of b in one block: whole vectors, the last of which may begin within the one before.
struct StreamColumns {
  int64_t first, vectors, last;  // `last`: where the last vector begins, counted from `first`
};

// sums[r] += a[r, 0..Steps) @ b[0..Steps), each row of sums by vectors. Ahead: prefetches as many rows of b behind.
template <typename T, int Rows, int Steps, bool Ahead = false>
inline void stream_step(const GemmProblem<T>& problem, const T* a, const T* b, const StreamColumns& columns, T* sums) {
  int64_t sums_row = columns.vectors * kVector<T>;
  Vector<T> factors[Rows][Steps];
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 8
    for (int s = 0; s < Steps; ++s) factors[r][s] = a[r * problem.a_row + s * problem.a_step] - Vector<T>{};
  }
  int64_t b_row = problem.b_row;
  auto add = [&]<int Vectors>(const T* from, T* to) __attribute__((always_inline)) {
    Vector<T> totals[Rows][Vectors];
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 4
      for (int v = 0; v < Vectors; ++v) totals[r][v] = load_vector(to + r * sums_row + v * kVector<T>);
    }
#pragma GCC unroll 8
    for (int s = 0; s < Steps; ++s) {
#pragma GCC unroll 4
      for (int v = 0; v < Vectors; ++v) {
        Vector<T> row = load_vector(from + s * b_row + v * kVector<T>);
#pragma GCC unroll 8
        for (int r = 0; r < Rows; ++r) totals[r][v] += factors[r][s] * row;
      }
    }
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 4
      for (int v = 0; v < Vectors; ++v)
        *reinterpret_cast<Vector<T>*>(to + r * sums_row + v * kVector<T>) = totals[r][v];
    }
  };
  constexpr int kAtOnce = Ahead ? 64 / MD_LEVEL_BYTES : Rows == 1 ? 2 : 1;
  int64_t whole = (columns.vectors - 1) * kVector<T>, x = 0;
  for (; x + kAtOnce * kVector<T> <= whole; x += kAtOnce * kVector<T>) {
    if constexpr (Ahead) {
#pragma GCC unroll 8
      for (int s = 0; s < Steps; ++s) __builtin_prefetch(b + (Steps + s) * b_row + x, 0, 2);
    }
    add.template operator()<kAtOnce>(b + x, sums + x);
  }
  for (; x < whole; x += kVector<T>) add.template operator()<1>(b + x, sums + x);
  add.template operator()<1>(b + columns.last, sums + whole);
}

template <typename T, int Steps>
inline void stream_rows(const GemmProblem<T>& problem, int64_t p, const StreamColumns& columns, T* sums) {
  for_row_tiles<kStreamRows>(problem.m, 0, [&]<int Rows>(int64_t at) {
    stream_step<T, Rows, Steps>(problem, problem.a + at * problem.a_row + p * problem.a_step,
                                problem.b + p * problem.b_row + columns.first, columns,
                                sums + at * columns.vectors * kVector<T>);
  });
}

// Rows [first, end) of b, as far as they fill whole steps; returns the first one that is left.
template <typename T>
inline int64_t stream_lone_row(const GemmProblem<T>& problem, int64_t first, int64_t end, const StreamColumns& columns,
                               T* sums, bool is_far) {
  bool is_short = columns.vectors * MD_LEVEL_BYTES * kLoneRowSteps <= kMostBytesAhead;
  for (; first + kLoneRowSteps <= end; first += kLoneRowSteps) {
    const T* a = problem.a + first * problem.a_step;
    const T* b = problem.b + first * problem.b_row + columns.first;
    if (is_far && is_short && first + 2 * kLoneRowSteps <= end) {
      stream_step<T, 1, kLoneRowSteps, true>(problem, a, b, columns, sums);
    } else {
      stream_step<T, 1, kLoneRowSteps>(problem, a, b, columns, sums);
    }
  }
  return first;
}

template <typename T>
inline void store_streamed(const GemmProblem<T>& problem, const StreamColumns& columns, const T* sums, bool add) {
  for (int64_t r = 0; r < problem.m; ++r) {
    T* row = problem.c + r * problem.c_row + columns.first;
    const T* from = sums + r * columns.vectors * kVector<T>;
    int64_t whole = (columns.vectors - 1) * kVector<T>, end = columns.last + kVector<T>;
    for (int64_t x = 0; x < whole; ++x) row[x] = add ? row[x] + from[x] : from[x];
    from += whole - columns.last;
    for (int64_t x = whole; x < end; ++x) row[x] = add ? row[x] + from[x] : from[x];
  }
}

template <typename T>
void stream_run(const GemmProblem<T>& problem, T* sums, bool is_far) {
  int64_t vectors = (problem.n + kVector<T> - 1) / kVector<T>;
  // More rows than are added to at a time read the rows of b again.
  int64_t rows_of_b = problem.m > kStreamRows ? kStreamSteps : 0;
  int64_t fit = kStreamBytes / (MD_LEVEL_BYTES * (problem.m + rows_of_b));
  if (fit < 1) fit = 1;
  for (int64_t v = 0; v < vectors; v += fit) {
    StreamColumns columns = {.first = v * kVector<T>, .vectors = least(fit, vectors - v), .last = 0};
    columns.last = least((columns.vectors - 1) * kVector<T>, problem.n - kVector<T> - columns.first);
    for (int64_t p = 0; p < problem.k; p += kGemmDepth) {
      int64_t end = p + least(problem.k - p, kGemmDepth), q = p;
      for (int64_t i = 0; i < problem.m * columns.vectors * kVector<T>; ++i) sums[i] = 0;
      if (problem.m == 1) q = stream_lone_row(problem, p, end, columns, sums, is_far);
      for (; q + kStreamSteps <= end; q += kStreamSteps) stream_rows<T, kStreamSteps>(problem, q, columns, sums);
      for (; q + 2 <= end; q += 2) stream_rows<T, 2>(problem, q, columns, sums);
      for (; q < end; ++q) stream_rows<T, 1>(problem, q, columns, sums);
      store_streamed(problem, columns, sums, p > 0);
    }
  }
}

// Half of the lanes of each of two vectors: of each group of Group lanes the first half, or the second.
template <typename T, int Group, bool Second, size_t... I>
inline Vector<T> halves(Vector<T> a, Vector<T> b, std::index_sequence<I...>) {
  constexpr int kHalf = kVector<T> / 2, kPart = Group / 2;
  return __builtin_shuffle(a, b,
                           VectorIndex<T>{(int(I) / kHalf * kVector<T> + int(I) % kHalf / kPart * Group +
                                           int(I) % kPart + (Second ? kPart : 0))...});
}

// The sums of the lanes of Count vectors, to out[0..Count): the same bits as fold_vector of each.
template <typename T, int Count, int Group = kVector<T>>
inline __attribute__((always_inline)) void fold_vectors(Vector<T> (&sums)[Count], T* out) {
  if constexpr (Group == 1) {
#pragma GCC unroll 16
    for (int i = 0; i < Count; ++i) *reinterpret_cast<Vector<T>*>(out + i * kVector<T>) = sums[i];
  } else {
    auto lanes = std::make_index_sequence<size_t(kVector<T>)>();
    Vector<T> folded[Count / 2];
#pragma GCC unroll 16
    for (int i = 0; i < Count / 2; ++i) {
      folded[i] = halves<T, Group, false>(sums[2 * i], sums[2 * i + 1], lanes) +
                  halves<T, Group, true>(sums[2 * i], sums[2 * i + 1], lanes);
    }
    fold_vectors<T, Count / 2, Group / 2>(folded, out);
  }
}

constexpr int kDotRows = MD_LEVEL_BYTES >= 64 ? 4 : 2, kDotColumns = 4;
// Few rows: more sums at a time, so that the loop does not wait for one.
constexpr int kFewDotRows = kDotRows / 2, kMoreDotColumns = 8;
constexpr int64_t kDotDepth = 1024;

// a[Rows, depth] @ b[depth, Columns], the columns of b contiguous.
template <typename T, int Rows, int Columns>
void dot_tile(int64_t depth, const T* a, int64_t a_row, const T* b, int64_t b_step, T* c, int64_t c_row, bool add) {
  Vector<T> sums[Rows * Columns] = {};
  auto step = [&](const T* left, int64_t left_row, const T* right, int64_t right_step) __attribute__((always_inline)) {
    Vector<T> rows[Rows];
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) rows[r] = load_vector(left + r * left_row);
#pragma GCC unroll 8
    for (int x = 0; x < Columns; ++x) {
      Vector<T> column = load_vector(right + x * right_step);
#pragma GCC unroll 8
      for (int r = 0; r < Rows; ++r) sums[r * Columns + x] += rows[r] * column;
    }
  };
  int64_t p = 0;
  for (; p + kVector<T> <= depth; p += kVector<T>) step(a + p, a_row, b + p, b_step);
  if (p < depth) {
    T left[Rows * kVector<T>] = {}, right[Columns * kVector<T>] = {};
    for (int64_t q = p; q < depth; ++q) {
      for (int r = 0; r < Rows; ++r) left[r * kVector<T> + q - p] = a[r * a_row + q];
      for (int x = 0; x < Columns; ++x) right[x * kVector<T> + q - p] = b[x * b_step + q];
    }
    step(left, kVector<T>, right, kVector<T>);
  }
  T folded[Rows * Columns];
  if constexpr (Rows * Columns >= kVector<T>) {
    fold_vectors<T>(sums, folded);
  } else {
    for (int i = 0; i < Rows * Columns; ++i) folded[i] = fold_vector<T>(sums[i]);
  }
  for (int r = 0; r < Rows; ++r) {
    for (int x = 0; x < Columns; ++x) {
      T* place = c + r * c_row + x;
      *place = add ? *place + folded[r * Columns + x] : folded[r * Columns + x];
    }
  }
}

template <typename T, int MostRows, int Columns>
inline void dot_columns(const GemmProblem<T>& problem, int64_t p, int64_t depth, int64_t x) {
  for_row_tiles<MostRows>(problem.m, 0, [&]<int Rows>(int64_t at) {
    dot_tile<T, Rows, Columns>(depth, problem.a + at * problem.a_row + p, problem.a_row,
                               problem.b + x * problem.b_step + p, problem.b_step, problem.c + at * problem.c_row + x,
                               problem.c_row, p > 0);
  });
}

template <typename T>
void dots_in_place(const GemmProblem<T>& problem) {
  for (int64_t p = 0; p < problem.k; p += kDotDepth) {
    int64_t depth = least(problem.k - p, kDotDepth), x = 0;
    if (problem.m <= kFewDotRows) {
      for (; x + kMoreDotColumns <= problem.n; x += kMoreDotColumns) {
        dot_columns<T, kFewDotRows, kMoreDotColumns>(problem, p, depth, x);
      }
    }
    for (; x + kDotColumns <= problem.n; x += kDotColumns) dot_columns<T, kDotRows, kDotColumns>(problem, p, depth, x);
    for (; x < problem.n; ++x) dot_columns<T, kDotRows, 1>(problem, p, depth, x);
  }
}

template <typename T>
void pack_all_rows(const GemmBlock<T>& block) {
  for (int64_t i = 0; i < block.m; i += kGemmRows) {
    for_row_tiles<kTileRows>(i + least(block.m - i, kGemmRows), i, [&]<int Rows>(int64_t at) {
      pack_rows<T, Rows>(block.a + at * block.a_row, block.a_row, block.a_step, block.depth,
                         block.packed_a + at * block.depth);
    });
  }
}

template <typename T>
void multiply_packed_rows(const GemmBlock<T>& block) {
  for (int64_t i = 0; i < block.m; i += kGemmRows) {
    gemm_rows_of<T, true>(block, block.packed_a + i * block.depth, least(block.m - i, kGemmRows),
                          block.c + i * block.c_row);
  }
}

// Rows of b that a tile prefetches into the L2 cache: `each` every kStepsPerLine steps.
template <typename T>
struct RowsAhead {
  const T* at;  // null: none
  int64_t row, each;
};

// A tile of a whole strip, with a packed. Copies: b is where it is, and is packed on the way.
template <typename T, int Rows, bool Copies>
void strip_tile(int64_t depth, const T* a, const T* b, int64_t b_row, T* copy, T* c, int64_t c_row, TileWrite write,
                RowsAhead<T> ahead) {
  if constexpr (!Copies) b_row = kStrip<T>;
  Vector<T> sums[Rows][kTileVectors] = {};
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 3
    for (int v = 0; v < kTileVectors; ++v) __builtin_prefetch(c + r * c_row + v * kVector<T>, 1);
  }
  auto step = [&](int64_t q) __attribute__((always_inline)) {
    const T* from = b + q * b_row;
    gemm_step<T, Rows, kTileVectors>(sums, a + q * Rows, 1, from);
    if constexpr (Copies) {
#pragma GCC unroll 3
      for (int v = 0; v < kTileVectors; ++v) {
        *reinterpret_cast<Vector<T>*>(copy + q * kStrip<T> + v * kVector<T>) =
            *reinterpret_cast<const Vector<T>*>(from + v * kVector<T>);
      }
    }
  };
  int64_t p = 0;
#pragma GCC unroll 1
  for (; p + kStepsPerLine <= depth; p += kStepsPerLine) {
    if (ahead.at != nullptr) {
      for (int64_t r = 0; r < ahead.each; ++r, ahead.at += ahead.row) {
#pragma GCC unroll 3
        for (int v = 0; v < kTileVectors; ++v) __builtin_prefetch(ahead.at + v * kVector<T>, 0, 2);
      }
    }
#pragma GCC unroll 4
    for (int q = 0; q < kStepsPerLine; ++q) step(p + q);
  }
#pragma GCC unroll 1
  for (; p < depth; ++p) step(p);
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 3
    for (int v = 0; v < kTileVectors; ++v) {
      Vector<T>* place = reinterpret_cast<Vector<T>*>(c + r * c_row + v * kVector<T>);
      *place = written(write, *place, sums[r][v]);
    }
  }
}

// a is packed, b where it is, with b_step 1: each strip of b is packed by the first tile, into `strip`, while the next
// one, in the end that at `next`, comes into the cache.
template <typename T>
void multiply_strips(const GemmBlock<T>& block, T* strip, const T* next) {
  int64_t steps = block.depth / kStepsPerLine, whole = block.n / kStrip<T> * kStrip<T>;
  for (int64_t x = 0; x < whole; x += kStrip<T>) {
    const T* b = block.b + x;
    const T* ahead = x + kStrip<T> < whole ? b + kStrip<T> : next;
    int64_t tiles = (block.m - 1) / kTileRows;
    RowsAhead<T> rows = {ahead, block.b_row, tiles == 0 ? 0 : (kStepsPerLine + tiles - 1) / tiles};
    int64_t done = 0;
    for_row_tiles<kTileRows>(block.m, 0, [&]<int Rows>(int64_t at) {
      const T* a = block.packed_a + at * block.depth;
      T* c = block.c + at * block.c_row + x;
      if (at == 0) {
        return strip_tile<T, Rows, true>(block.depth, a, b, block.b_row, strip, c, block.c_row, write_of(block), {});
      }
      rows.at = done < block.depth ? ahead : nullptr;
      strip_tile<T, Rows, false>(block.depth, a, strip, 0, nullptr, c, block.c_row, write_of(block), rows);
      done += rows.each * steps;
      ahead += ahead == nullptr ? 0 : rows.each * steps * block.b_row;
    });
  }
  if (whole == block.n) return;
  GemmBlock<T> rest = block;
  rest.n -= whole;
  rest.c += whole;
  rest.b = strip;
  rest.b_row = kStrip<T>;
  rest.b_is_packed = true;
  gemm_pack_columns<T>(block.b + whole, block.b_row, 1, block.depth, rest.n, strip);
  gemm_rows_of<T, true>(rest, rest.packed_a, rest.m, rest.c);
}

template <typename T>
constexpr ProductLoops<T> product_loops() {
  return {pack_all_rows<T>, multiply_packed_rows<T>, multiply_strips<T>, stream_run<T>, dots_in_place<T>};
}
