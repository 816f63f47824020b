// The inner loops of matrix products, float and double: see gemm.h for the order in which they run.

// A tile of c stays in registers over a block of k: its rows, and the number of vectors per row.
constexpr int kTileRows = MD_LEVEL_BYTES >= 64 ? 8 : 4;
constexpr int kTileVectors = MD_LEVEL_BYTES >= 32 ? 3 : 2;
template <typename T>
constexpr int kStrip = kTileVectors * kVector<T>;

// What a tile does with its place in c.
enum class TileWrite : uint8_t { Set, Add, Subtract };
template <typename T>
inline TileWrite write_of(const GemmBlock<T>& block) {
  return !block.add ? TileWrite::Set : block.subtract ? TileWrite::Subtract : TileWrite::Add;
}
template <typename V>
inline __attribute__((always_inline)) V written(TileWrite write, V place, V sum) {
  return write == TileWrite::Set ? sum : write == TileWrite::Add ? place + sum : place - sum;
}

inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

constexpr int kStepsPerLine = 4;  // of k, per prefetched cache line

// One step through k: the tile's column of a times the row of b.
template <typename T, int Rows, int Vectors>
inline __attribute__((always_inline)) void gemm_step(Vector<T> (&sums)[Rows][Vectors], const T* a, int64_t a_row,
                                                     const T* b) {
  Vector<T> row[Vectors];
#pragma GCC unroll 3
  for (int v = 0; v < Vectors; ++v) row[v] = *reinterpret_cast<const Vector<T>*>(b + v * kVector<T>);
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r) {
    Vector<T> scale = a[r * a_row] - Vector<T>{};  // broadcast
#pragma GCC unroll 3
    for (int v = 0; v < Vectors; ++v) sums[r][v] += scale * row[v];
  }
}

constexpr int64_t kRowsAhead = 12;  // of a b that is read where it is

// PackedA: a's element (r, p) is a[p * Rows + r], else a[r * a_row + p]. Row p of b is at b + p * b_row. ahead: address
// to prefetch into the L2 cache, one line every kStepsPerLine steps; null: the rows of b that come next.
template <typename T, int Rows, int Vectors, bool PackedA>
void gemm_tile(int64_t depth, const T* a, int64_t a_row, const T* b, int64_t b_row, T* c, int64_t c_row,
               TileWrite write, const T* ahead) {
  constexpr int kStepOfA = PackedA ? Rows : 1;
  if constexpr (PackedA) a_row = 1;
  Vector<T> sums[Rows][Vectors];
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 3
    for (int v = 0; v < Vectors; ++v) {
      sums[r][v] = Vector<T>{};
      __builtin_prefetch(c + r * c_row + v * kVector<T>, 1);
    }
  }
  int64_t p = 0;
#pragma GCC unroll 1
  for (; p + kStepsPerLine <= depth; p += kStepsPerLine) {
    if (ahead != nullptr) {
      __builtin_prefetch(ahead, 0, 2);
      ahead += 64 / sizeof(T);
    } else {
#pragma GCC unroll 4
      for (int q = 0; q < kStepsPerLine; ++q) {
#pragma GCC unroll 3
        for (int v = 0; v < Vectors; ++v) __builtin_prefetch(b + (kRowsAhead + q) * b_row + v * kVector<T>, 0, 3);
      }
    }
#pragma GCC unroll 4
    for (int q = 0; q < kStepsPerLine; ++q) {
      gemm_step<T, Rows, Vectors>(sums, a + q * kStepOfA, a_row, b + q * b_row);
    }
    a += kStepsPerLine * kStepOfA;
    b += kStepsPerLine * b_row;
  }
#pragma GCC unroll 1
  for (; p < depth; ++p, a += kStepOfA, b += b_row) gemm_step<T, Rows, Vectors>(sums, a, a_row, b);
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 3
    for (int v = 0; v < Vectors; ++v) {
      Vector<T>* place = reinterpret_cast<Vector<T>*>(c + r * c_row + v * kVector<T>);
      *place = written(write, *place, sums[r][v]);
    }
  }
}

// One tile of `width` columns; a partial vector goes through a temporary tile.
template <typename T, int Rows, bool PackedA>
inline void gemm_tile_of(int64_t depth, const T* a, int64_t a_row, const T* b, int64_t b_row, int64_t width, T* c,
                         int64_t c_row, TileWrite write, const T* ahead) {
  if (width == kStrip<T>)
    return gemm_tile<T, Rows, kTileVectors, PackedA>(depth, a, a_row, b, b_row, c, c_row, write, ahead);
  T whole[Rows * kStrip<T>];
  bool full = width % kVector<T> == 0;
  T* place = full ? c : whole;
  int64_t place_row = full ? c_row : kStrip<T>;
  TileWrite place_write = full ? write : TileWrite::Set;
  if (width <= kVector<T>) {
    gemm_tile<T, Rows, 1, PackedA>(depth, a, a_row, b, b_row, place, place_row, place_write, ahead);
  } else if (width <= 2 * kVector<T>) {
    gemm_tile<T, Rows, 2, PackedA>(depth, a, a_row, b, b_row, place, place_row, place_write, ahead);
  } else {
    gemm_tile<T, Rows, kTileVectors, PackedA>(depth, a, a_row, b, b_row, place, place_row, place_write, ahead);
  }
  if (full) return;
  for (int64_t r = 0; r < Rows; ++r) {
    for (int64_t x = 0; x < width; ++x) {
      c[r * c_row + x] = written(write, c[r * c_row + x], whole[r * kStrip<T> + x]);
    }
  }
}

// Processes kTileRows rows at a time, the rest by halves. Calls step(constant number of rows, first row).
template <int Rows, typename Step>
inline void for_row_tiles(int64_t m, int64_t at, const Step& step) {
  for (; m - at >= Rows; at += Rows) step.template operator()<Rows>(at);
  if constexpr (Rows > 1) for_row_tiles<Rows / 2>(m, at, step);
}

// The lower or the upper halves of two vectors, element by element in turn.
template <typename T, bool Upper, size_t... I>
inline Vector<T> in_turn(Vector<T> a, Vector<T> b, std::index_sequence<I...>) {
  return __builtin_shuffle(
      a, b, VectorIndex<T>{(int(I) / 2 + (Upper ? kVector<T> / 2 : 0) + (int(I) % 2 != 0 ? kVector<T> : 0))...});
}

// Transposes Rows vectors: element x of row r becomes element x * Rows + r of all vectors in sequence.
template <typename T, int Rows>
inline __attribute__((always_inline)) void transpose_vectors(Vector<T> (&rows)[Rows]) {
  constexpr int kHalf = Rows / 2;
  auto lanes = std::make_index_sequence<size_t(kVector<T>)>();
#pragma GCC unroll 4
  for (int left = Rows; left > 1; left /= 2) {
    Vector<T> next[Rows];
#pragma GCC unroll 16
    for (int r = 0; r < kHalf; ++r) {
      next[2 * r] = in_turn<T, false>(rows[r], rows[r + kHalf], lanes);
      next[2 * r + 1] = in_turn<T, true>(rows[r], rows[r + kHalf], lanes);
    }
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) rows[r] = next[r];
  }
}

template <typename T, int Rows>
inline void pack_rows(const T* a, int64_t a_row, int64_t a_step, int64_t depth, T* packed) {
  int64_t p = 0;
  if (a_step == 1) {
    for (; p + kVector<T> <= depth; p += kVector<T>) {
      Vector<T> rows[Rows];
#pragma GCC unroll 8
      for (int r = 0; r < Rows; ++r) rows[r] = load_vector(a + r * a_row + p);
      transpose_vectors<T, Rows>(rows);
#pragma GCC unroll 8
      for (int r = 0; r < Rows; ++r) store_vector<T>(rows[r], packed + p * Rows + r * kVector<T>);
    }
  }
  for (; p < depth; ++p) {
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) packed[p * Rows + r] = a[r * a_row + p * a_step];
  }
}

// Packs one strip of `columns`, in whole vectors: the last one is padded with zeros; padding not read
// by narrower tiles is left unset.
template <typename T, int Vectors>
inline void pack_strip(const T* b, int64_t b_row, int64_t depth, int64_t columns, T* packed) {
  int64_t missing = Vectors * kVector<T> - columns;
  for (int64_t p = 0; p < depth; ++p) {
    T* row = packed + p * kStrip<T>;
    const T* from = b + p * b_row;
    for (int v = 0; v < (missing == 0 ? Vectors : Vectors - 1); ++v) {
      *reinterpret_cast<Vector<T>*>(row + v * kVector<T>) = *reinterpret_cast<const Vector<T>*>(from + v * kVector<T>);
    }
    if (missing == 0) continue;
    T last[kVector<T>] = {};
    for (int64_t x = 0; x < kVector<T> - missing; ++x) last[x] = from[(Vectors - 1) * kVector<T> + x];
    __builtin_memcpy(row + (Vectors - 1) * kVector<T>, last, sizeof last);
  }
}

// kVector columns of b, each contiguous, to one vector of each row of a strip.
template <typename T>
inline void pack_column_vectors(const T* b, int64_t b_step, int64_t depth, T* packed) {
  int64_t p = 0;
  for (; p + kVector<T> <= depth; p += kVector<T>) {
    Vector<T> columns[kVector<T>];
#pragma GCC unroll 16
    for (int x = 0; x < kVector<T>; ++x) columns[x] = load_vector(b + x * b_step + p);
    transpose_vectors<T, kVector<T>>(columns);
#pragma GCC unroll 16
    for (int x = 0; x < kVector<T>; ++x) store_vector<T>(columns[x], packed + (p + x) * kStrip<T>);
  }
  for (; p < depth; ++p) {
    for (int x = 0; x < kVector<T>; ++x) packed[p * kStrip<T> + x] = b[x * b_step + p];
  }
}

// As pack_strip, for any strides.
template <typename T>
inline void pack_transposed(const T* b, int64_t b_row, int64_t b_step, int64_t depth, int64_t columns, T* packed) {
  int64_t done = 0;
  if (b_row == 1) {
    for (; done + kVector<T> <= columns; done += kVector<T>)
      pack_column_vectors(b + done * b_step, b_step, depth, packed + done);
  }
  int64_t filled = (columns + kVector<T> - 1) / kVector<T> * kVector<T>;
  if (done == filled) return;
  for (int64_t p = 0; p < depth; ++p) {
    T* row = packed + p * kStrip<T>;
    for (int64_t x = done; x < columns; ++x) row[x] = b[p * b_row + x * b_step];
    for (int64_t x = columns; x < filled; ++x) row[x] = 0;
  }
}

template <typename T>
void gemm_pack_columns(const T* b, int64_t b_row, int64_t b_step, int64_t depth, int64_t n, T* packed) {
  for (int64_t j = 0; j < n; j += kStrip<T>, packed += depth * kStrip<T>) {
    const T* from = b + j * b_step;
    int64_t columns = least(n - j, kStrip<T>);
    if (b_step != 1) {
      pack_transposed(from, b_row, b_step, depth, columns, packed);
    } else if (columns <= kVector<T>) {
      pack_strip<T, 1>(from, b_row, depth, columns, packed);
    } else if (columns <= 2 * kVector<T>) {
      pack_strip<T, 2>(from, b_row, depth, columns, packed);
    } else {
      pack_strip<T, kTileVectors>(from, b_row, depth, columns, packed);
    }
  }
}

template <typename T, bool PackedA>
void gemm_rows_of(const GemmBlock<T>& block, const T* a, int64_t m, T* c) {
  int64_t width;
  for (int64_t x = 0; x < block.n; x += width) {
    width = least(block.n - x, kStrip<T>);
    const T* strip = block.b + (block.b_is_packed ? x * block.depth : x);
    const T* next_strip = strip;
    if (block.b_is_packed) {
      next_strip += kStrip<T> * block.depth;
    } else if (block.n - x == (kTileVectors + 1) * kVector<T>) {
      width -= kVector<T>;  // two tiles of two vectors rather than one of three and one of one
    }
    for_row_tiles<kTileRows>(m, 0, [&]<int Rows>(int64_t at) {
      gemm_tile_of<T, Rows, PackedA>(block.depth, a + at * (PackedA ? block.depth : block.a_row), block.a_row, strip,
                                     block.b_row, width, c + at * block.c_row + x, block.c_row, write_of(block),
                                     block.b_is_packed ? next_strip + at * block.depth * kStrip<T> / m
                                     : at == 0         ? nullptr
                                                       : strip);
    });
  }
}

template <typename T>
void gemm_rows(const GemmBlock<T>& block) {
  if (block.packed_a == nullptr) return gemm_rows_of<T, false>(block, block.a, block.m, block.c);
  for (int64_t i = 0; i < block.m; i += kGemmRows) {
    int64_t rows = least(block.m - i, kGemmRows);
    for_row_tiles<kTileRows>(rows, 0, [&]<int Rows>(int64_t at) {
      pack_rows<T, Rows>(block.a + (i + at) * block.a_row, block.a_row, block.a_step, block.depth,
                         block.packed_a + at * block.depth);
    });
    gemm_rows_of<T, true>(block, block.packed_a, rows, block.c + i * block.c_row);
  }
}

template <typename T>
constexpr GemmLoops<T> gemm_loops() {
  return {kStrip<T>, kVector<T>, gemm_pack_columns<T>, gemm_rows<T>};
}
