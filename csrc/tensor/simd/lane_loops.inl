// Pools, samples of images, and distances of rows: a result in each lane.

template <typename T>
inline void keep_larger_of(T now, int32_t place, T& value, int32_t& at) {
  uint8_t is_larger = uint8_t(now > value) | uint8_t(now != now);
  value = choose(is_larger, now, value);
  at = choose(is_larger, place, at);
}

// A vector of channels, whose results stay in registers; how many channels were taken.
inline int64_t keep_larger_in_vectors(const float* src, int64_t step, int64_t pixels, int64_t n, PixelPlaces at,
                                      float* values, int32_t* places) {
  int64_t i = 0;
  for (; i + kVector<float> <= n; i += kVector<float>) {
    Vector<float> value = load_vector(values + i);
    Vector<int32_t> place = load_vector(places + i);
    int32_t here = at.first;
    for (int64_t k = 0; k < pixels; ++k, here += at.step) {
      Vector<float> now = load_vector(src + k * step + i);
      auto stays = (now <= value) | ((value != value) & (now == now));
      value = stays ? value : now;
      place = stays ? place : Vector<int32_t>{} + here;
    }
    store_vector<float>(value, values + i);
    store_vector<int32_t>(place, places + i);
  }
  return i;
}

template <typename T>
void keep_larger_run(const T* src, int64_t step, int64_t pixels, int64_t n, PixelPlaces at, T* values,
                     int32_t* places) {
  int64_t done = 0;
  if constexpr (sizeof(T) == sizeof(float)) done = keep_larger_in_vectors(src, step, pixels, n, at, values, places);
  for (int64_t k = 0; k < pixels; ++k) {
    const T* pixel = src + k * step;
    int32_t place = at.first + int32_t(k) * at.step;
#pragma GCC ivdep
    for (int64_t i = done; i < n; ++i) keep_larger_of(pixel[i], place, values[i], places[i]);
  }
}

template <typename T>
inline void store_as(Vector<T> line, T* dst) {
  store_vector<T>(line, dst);
}
inline void store_as(Vector<int32_t> line, int64_t* dst) {
  int32_t numbers[kVector<int32_t>];
  store_vector<int32_t>(line, numbers);
  for (int i = 0; i < kVector<int32_t>; ++i) dst[i] = numbers[i];
}

// Squares of a vector's width in registers, and what is left of rows and columns.
template <typename T, typename To>
void turn_columns(const T* src, int64_t columns, int64_t rows, int64_t step, To* dst) {
  constexpr int kSide = kVector<T>;
  int64_t whole_columns = columns / kSide * kSide, whole_rows = rows / kSide * kSide;
  for (int64_t column = 0; column < whole_columns; column += kSide) {
    for (int64_t row = 0; row < whole_rows; row += kSide) {
      Vector<T> lines[kSide];
#pragma GCC unroll 16
      for (int k = 0; k < kSide; ++k) lines[k] = load_vector(src + (row + k) * columns + column);
      transpose<T>(lines);
#pragma GCC unroll 16
      for (int k = 0; k < kSide; ++k) store_as(lines[k], dst + (column + k) * step + row);
    }
  }
  for (int64_t column = 0; column < columns; ++column)
    for (int64_t row = column < whole_columns ? whole_rows : 0; row < rows; ++row)
      dst[column * step + row] = To(src[row * columns + column]);
}

template <typename T>
void turn_pixels_run(const T* values, const int32_t* places, int64_t channels, int64_t pixels, int64_t step, T* dst,
                     int64_t* dst_places) {
  turn_columns(values, channels, pixels, step, dst);
  turn_columns(places, channels, pixels, step, dst_places);
}

template <typename T>
void pixels_run(const T* grid, int64_t step, const SampleDim& dim, int64_t n, T* places) {
  T size = T(dim.size), last = T(dim.size - 1);
  if (dim.align_corners) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) places[i] = (grid[i * step] + 1) / 2 * last;
  } else {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) places[i] = ((grid[i * step] + 1) * size - 1) / 2;
  }
}

// The pixel 0 for NaN.
template <typename T>
inline T clamped(T place, T last) {
  T least = choose(place > 0, place, T(0));
  return choose(least < last, least, last);
}

// fmod for numbers of pixels: the quotient is exact below 2^23, or 2^52, and what is above is the last pixel anyway.
template <typename T>
inline T reflected(T place, T least, T span) {
  T apart = float_abs(place - least), flips = float_trunc(apart / span);
  T rest = apart - flips * span;
  uint8_t is_even = flips - 2 * float_trunc(flips / 2) == 0;
  return choose(is_even, rest + least, span - rest + least);
}

template <typename T>
void inside_run(const SampleDim& dim, int64_t n, T* places) {
  T last = T(dim.size - 1);
  if (dim.padding == SamplePadding::Border) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) places[i] = clamped(places[i], last);
  } else if (dim.padding == SamplePadding::Reflection) {
    T least = dim.align_corners ? T(0) : T(-0.5), span = dim.align_corners ? last : T(dim.size);
    if (span == 0) {
      for (int64_t i = 0; i < n; ++i) places[i] = 0;
      return;
    }
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) places[i] = clamped(reflected(places[i], least, span), last);
  }
}

template <typename T>
void wholes_run(const T* places, bool nearest, int64_t n, T* wholes) {
  if (nearest) {
    for (int64_t i = 0; i < n; ++i) wholes[i] = float_rint(places[i]);
  } else {
    for (int64_t i = 0; i < n; ++i) wholes[i] = float_floor(places[i]);
  }
}

template <typename T>
void offsets_run(const T* wholes, T shift, int64_t size, int64_t n, int32_t* offsets) {
  T end = T(size);
  int32_t row = int32_t(size);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    T place = wholes[i] + shift;
    uint8_t fits = uint8_t(place >= 0) & uint8_t(place < end) & uint8_t(offsets[i] >= 0);
    int32_t at = int32_t(choose(fits, place, T(0)));
    offsets[i] = choose(fits, offsets[i] * row + at, -1);
  }
}

template <typename T>
inline T tap_of(const T* plane, int32_t at, T weight) {
  return choose(at >= 0, plane[at < 0 ? 0 : at], T(0)) * weight;
}

#if MD_LEVEL_BYTES == 64
// GCC does without the instruction that gathers, which leaves out what is outside.
template <int Taps>
inline int64_t add_whole_taps(const float* plane, const int32_t* offsets, const float* weights, int64_t n,
                              bool is_first, float* dst) {
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) {
    __m512 total = is_first ? _mm512_setzero_ps() : _mm512_loadu_ps(dst + i);
#pragma GCC unroll 4
    for (int k = 0; k < Taps; ++k) {
      __m512i places = _mm512_loadu_si512(offsets + k * n + i);
      __mmask16 inside = _mm512_cmpge_epi32_mask(places, _mm512_setzero_si512());
      __m512 found = _mm512_mask_i32gather_ps(_mm512_setzero_ps(), inside, places, plane, 4);
      __m512 weight = _mm512_loadu_ps(weights + k * n + i);
      total = k == 0 && is_first ? found * weight : _mm512_fmadd_ps(found, weight, total);
    }
    _mm512_storeu_ps(dst + i, total);
  }
  return i;
}
#endif

template <int Taps, typename T>
inline void add_taps(const T* plane, const int32_t* offsets, const T* weights, int64_t n, bool is_first, T* dst) {
  int64_t done = 0;
#if MD_LEVEL_BYTES == 64
  if constexpr (sizeof(T) == sizeof(float)) done = add_whole_taps<Taps>(plane, offsets, weights, n, is_first, dst);
#endif
#pragma GCC ivdep
  for (int64_t i = done; i < n; ++i) {
    T total = tap_of(plane, offsets[i], weights[i]);
#pragma GCC unroll 4
    for (int k = 1; k < Taps; ++k) total += tap_of(plane, offsets[k * n + i], weights[k * n + i]);
    dst[i] = is_first ? total : dst[i] + total;
  }
}

template <typename T>
void taps_run(const T* plane, const int32_t* offsets, const T* weights, int64_t taps, int64_t n, T* dst) {
  constexpr int kAtOnce = 4;
  if (taps == 1) return add_taps<1>(plane, offsets, weights, n, true, dst);
  if (taps == 2) return add_taps<2>(plane, offsets, weights, n, true, dst);
  add_taps<kAtOnce>(plane, offsets, weights, n, true, dst);
  for (int64_t k = kAtOnce; k < taps; k += kAtOnce)
    add_taps<kAtOnce>(plane, offsets + k * n, weights + k * n, n, false, dst);
}

template <int Taps, typename T>
inline void weigh_rows_of(const T* const* rows, const T* weights, int64_t n, T* dst) {
  int64_t i = 0;
  for (; i + kVector<T> <= n; i += kVector<T>) {
    Vector<T> total = load_vector(rows[0] + i) * weights[0];
#pragma GCC unroll 4
    for (int k = 1; k < Taps; ++k) total += load_vector(rows[k] + i) * weights[k];
    store_vector<T>(total, dst + i);
  }
  for (; i < n; ++i) {
    T total = rows[0][i] * weights[0];
#pragma GCC unroll 4
    for (int k = 1; k < Taps; ++k) total += rows[k][i] * weights[k];
    dst[i] = total;
  }
}

template <typename T>
void weigh_rows_run(const T* const* rows, const T* weights, int64_t taps, int64_t n, T* dst) {
  return taps == 2 ? weigh_rows_of<2>(rows, weights, n, dst) : weigh_rows_of<4>(rows, weights, n, dst);
}

template <typename T>
void follow_states_run(const T* from, const T* skips, const T* logs, int64_t n, T* to) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    T same = from[i], next = from[i - 1], beyond = choose(skips[i] == 0, from[i - 2], skips[i]);
    T most = choose(same > next, same, next);
    most = choose(beyond > most, beyond, most);
    T base = choose(most == -infinity(most), T(0), most);
    T total = math_exp(same - base) + math_exp(next - base) + math_exp(beyond - base);
    to[i] = math_log(total) + base + logs[i];
  }
}

// Of numbers or vectors of them.
template <PairNorm Norm, typename V>
inline V joined(V total, V apart, V one) {
  V size = apart < 0 ? -apart : apart;
  if constexpr (Norm == PairNorm::Count) {
    return total + (apart != 0 ? one : one - one);
  } else if constexpr (Norm == PairNorm::Sum) {
    return total + size;
  } else if constexpr (Norm == PairNorm::Root) {
    return total + apart * apart;
  } else {
    return size <= total ? total : total != total ? total : size;
  }
}

// Tiles of results stay in registers. The last one overlaps the one before, or there is less than a vector.
template <PairNorm Norm, int Vectors, typename T>
inline void pair_tile(const PairRows<T>& rows, int64_t i, int64_t first, int64_t n, T* dst) {
  Vector<T> totals[kPairRows][Vectors] = {};
  const T* column = rows.columns;
  for (int64_t d = 0; d < rows.width; ++d, column += rows.step) {
    Vector<T> others[Vectors];
#pragma GCC unroll 4
    for (int v = 0; v < Vectors; ++v) others[v] = load_vector(column + first + v * kVector<T>);
#pragma GCC unroll 4
    for (int k = 0; k < kPairRows; ++k) {
      Vector<T> mine = Vector<T>{} + column[i + k];
#pragma GCC unroll 4
      for (int v = 0; v < Vectors; ++v) totals[k][v] = joined<Norm>(totals[k][v], mine - others[v], Vector<T>{} + T(1));
    }
  }
#pragma GCC unroll 4
  for (int k = 0; k < kPairRows; ++k) {
#pragma GCC unroll 4
    for (int v = 0; v < Vectors; ++v) store_vector<T>(totals[k][v], dst + k * n + v * kVector<T>);
  }
}

template <PairNorm Norm, typename T>
void pair_norms_of(const PairRows<T>& rows, int64_t i, int64_t first, int64_t n, T* dst) {
  constexpr int kVectors = MD_LEVEL_BYTES >= 64 ? 4 : 2;
  constexpr int64_t kTile = kVectors * kVector<T>;
  int64_t at = 0;
  for (; at + kTile <= n; at += kTile) pair_tile<Norm, kVectors>(rows, i, first + at, n, dst + at);
  for (; at < n && n >= kVector<T>; at += kVector<T>) {
    at = at + kVector<T> <= n ? at : n - kVector<T>;
    pair_tile<Norm, 1>(rows, i, first + at, n, dst + at);
  }
  for (; at < n; ++at) {
    for (int64_t k = 0; k < kPairRows; ++k) {
      T total = 0;
      const T* column = rows.columns;
      for (int64_t d = 0; d < rows.width; ++d, column += rows.step)
        total = joined<Norm>(total, column[i + k] - column[first + at], T(1));
      dst[k * n + at] = total;
    }
  }
  if constexpr (Norm == PairNorm::Root) {
    for (int64_t j = 0; j < kPairRows * n; ++j) dst[j] = float_sqrt(dst[j]);
  }
}

template <typename T>
void pair_norms_run(const PairRows<T>& rows, PairNorm norm, int64_t i, int64_t first, int64_t n, T* dst) {
  switch (norm) {
    case PairNorm::Count:
      return pair_norms_of<PairNorm::Count>(rows, i, first, n, dst);
    case PairNorm::Sum:
      return pair_norms_of<PairNorm::Sum>(rows, i, first, n, dst);
    case PairNorm::Root:
      return pair_norms_of<PairNorm::Root>(rows, i, first, n, dst);
    case PairNorm::Largest:
      return pair_norms_of<PairNorm::Largest>(rows, i, first, n, dst);
  }
}

template <typename T>
constexpr LaneLoops<T> lane_loops() {
  return {largest_of_windows_run<T>,
          largest_values_of_windows_run<T>,
          largest_by_columns_run<T>,
          largest_of_rows_run<T>,
          means_of_rows_run<T>,
          means_of_windows_run<T>,
          keep_larger_run<T>,
          turn_pixels_run<T>,
          turn_columns<T, T>,
          pixels_run<T>,
          inside_run<T>,
          wholes_run<T>,
          offsets_run<T>,
          taps_run<T>,
          weigh_rows_run<T>,
          follow_states_run<T>,
          pair_norms_run<T>};
}
