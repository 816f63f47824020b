// Reductions over a contiguous run, and the inner loops of matrix products.

// Independent partial results, in vector registers.
constexpr int kLanes = 64;
constexpr int64_t kSumBlock = 1024;

template <typename T>
constexpr int kLaneVectors = kLanes / kVector<T>;

template <typename T>
struct Lanes {
  Vector<T> vectors[kLaneVectors<T>];
};

// Number of accumulator vectors that a loop keeps in registers besides its other values; the rest takes another pass.
constexpr int kRegisterVectors = MD_LEVEL_BYTES >= 64 ? 16 : 8;

// Calls pass.template operator()<first accumulator vector, count>() for all of them, at
// most `Each` registers per vector.
template <typename T, int Each, typename Pass>
inline __attribute__((always_inline)) void for_lanes_in_registers(const Pass& pass) {
  constexpr int kFit = kRegisterVectors / Each, kAtOnce = kFit < kLaneVectors<T> ? kFit : kLaneVectors<T>;
  [&]<int... Part>(std::integer_sequence<int, Part...>) __attribute__((always_inline)) {
    (pass.template operator()<Part * kAtOnce, kAtOnce>(), ...);
  }(std::make_integer_sequence<int, kLaneVectors<T> / kAtOnce>());
}

// Element i of the result is element i + Width, or, past the end, one of the first.
template <typename T, int Width, size_t... I>
inline Vector<T> turned(Vector<T> vector, std::index_sequence<I...>) {
  return __builtin_shuffle(vector, VectorIndex<T>{(int(I) + Width) % kVector<T>...});
}

// Adds the second half to the first, until one element is left.
template <typename T, int Width = kVector<T> / 2>
inline T fold_vector(Vector<T> vector) {
  if constexpr (Width == 0) {
    return vector[0];
  } else {
    vector += turned<T, Width>(vector, std::make_index_sequence<size_t(kVector<T>)>());
    return fold_vector<T, Width / 2>(vector);
  }
}

template <typename T>
inline T fold_sum(Lanes<T>& lanes) {
#pragma GCC unroll 8
  for (int width = kLaneVectors<T> / 2; width > 0; width /= 2) {
#pragma GCC unroll 8
    for (int i = 0; i < width; ++i) lanes.vectors[i] += lanes.vectors[i + width];
  }
  return fold_vector<T>(lanes.vectors[0]);
}

template <typename T, size_t... I>
constexpr VectorIndex<T> places_in(std::index_sequence<I...>) {
  VectorIndex<T> places = {int(I)...};
  return places;
}
// The first `count` elements, of which there may be more; the last ones. And zeros.
template <typename T>
inline Vector<T> first_of(Vector<T> vector, int64_t count) {
  constexpr VectorIndex<T> kPlaces = places_in<T>(std::make_index_sequence<size_t(kVector<T>)>());
  using Index = std::decay_t<decltype(kPlaces[0])>;
  return kPlaces < Index(least(count, kVector<T>)) ? vector : Vector<T>{};
}
template <typename T>
inline Vector<T> last_of(Vector<T> vector, int64_t count) {
  constexpr VectorIndex<T> kPlaces = places_in<T>(std::make_index_sequence<size_t(kVector<T>)>());
  using Index = std::decay_t<decltype(kPlaces[0])>;
  return kPlaces >= Index(kVector<T> - count) ? vector : Vector<T>{};
}

// The sum of term(i) over [0, n), in lanes; whole(i) is the vector of the terms from i on.
template <typename T, typename Whole, typename Term>
inline __attribute__((always_inline)) T sum_in_lanes(int64_t n, const Whole& whole, const Term& term) {
  // In order, as plans reduce such rows.
  if (n < kLanes) {
    T total = 0;
    for (int64_t i = 0; i < n; ++i) total += term(i);
    return total;
  }
  Lanes<T> lanes;
  int64_t whole_end = n / kLanes * kLanes, i = whole_end;
  for_lanes_in_registers<T, 1>([&]<int First, int Count>() __attribute__((always_inline)) {
    Vector<T> sums[Count] = {};
    for (int64_t at = 0; at < whole_end; at += kLanes) {
#pragma GCC unroll 32
      for (int v = 0; v < Count; ++v) sums[v] += whole(at + (First + v) * kVector<T>);
    }
#pragma GCC unroll 32
    for (int v = 0; v < Count; ++v) lanes.vectors[First + v] = sums[v];
  });
  int v = 0;
  for (; i + kVector<T> <= n; i += kVector<T>, ++v) lanes.vectors[v] += whole(i);
  if (i < n) lanes.vectors[v] += last_of<T>(whole(n - kVector<T>), n - i);
  return fold_sum(lanes);
}

template <typename T>
T sum_block(const T* src, int64_t n) {
  return sum_in_lanes<T>(n, [=](int64_t i) { return load_vector(src + i); }, [=](int64_t i) { return src[i]; });
}

// Pairwise over blocks: the error grows with the logarithm of n.
template <typename T>
T sum_run(const T* src, int64_t n) {
  if (n <= kSumBlock) return sum_block(src, n);
  int64_t half = (n / 2 + kSumBlock - 1) / kSumBlock * kSumBlock;
  return sum_run(src, half) + sum_run(src + half, n - half);
}

template <typename T>
void sum_loop(const void* src, int64_t n, void* total) {
  const T* values = static_cast<const T*>(src);
  if constexpr (std::is_floating_point_v<T>) {
    *static_cast<T*>(total) += sum_run(values, n);
  } else {
    uint64_t sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += uint64_t(int64_t(values[i]));
    *static_cast<uint64_t*>(total) += sum;
  }
}

template <typename T>
void product_loop(const void* src, int64_t n, void* total) {
  using Word = std::conditional_t<std::is_floating_point_v<T>, T, uint64_t>;
  using Value = std::conditional_t<std::is_floating_point_v<T>, T, int64_t>;
  const T* values = static_cast<const T*>(src);
  Word product = *static_cast<Word*>(total);
  int64_t i = 0;
  if (n >= kLanes) {
    Word lanes[kLanes];
    for (int lane = 0; lane < kLanes; ++lane) lanes[lane] = Word(Value(values[lane]));
    for (i = kLanes; i + kLanes <= n; i += kLanes) {
      for (int lane = 0; lane < kLanes; ++lane) lanes[lane] *= Word(Value(values[i + lane]));
    }
    for (int width = kLanes / 2; width > 0; width /= 2) {
      for (int lane = 0; lane < width; ++lane) lanes[lane] *= lanes[lane + width];
    }
    product *= lanes[0];
  }
  for (; i < n; ++i) product *= Word(Value(values[i]));
  *static_cast<Word*>(total) = product;
}

template <typename T, bool Max>
inline T extreme_of(T a, T b) {
  return Max ? max_of(a, b) : min_of(a, b);
}

// NaN wins, as in max_of and min_of.
template <typename T, bool Max>
inline Vector<T> extreme_of_vectors(Vector<T> a, Vector<T> b) {
  return ((Max ? a > b : a < b) | (a != a)) ? a : b;
}

#if MD_LEVEL_BYTES >= 64
#include "tensor/simd/avx512_rows.inl"
#endif

template <typename T, bool Max>
T extreme_of_whole_lanes(const T* src, int64_t n) {
#if MD_LEVEL_BYTES >= 64
  return avx512_extreme<T, Max>(src, n);
#else
  Lanes<T> lanes;
  for_lanes_in_registers<T, 1>([&]<int First, int Count>() __attribute__((always_inline)) {
    Vector<T> best[Count];
#pragma GCC unroll 32
    for (int v = 0; v < Count; ++v) best[v] = load_vector(src + (First + v) * kVector<T>);
    for (int64_t i = kLanes; i < n; i += kLanes) {
#pragma GCC unroll 32
      for (int v = 0; v < Count; ++v)
        best[v] = extreme_of_vectors<T, Max>(best[v], load_vector(src + i + (First + v) * kVector<T>));
    }
#pragma GCC unroll 32
    for (int v = 0; v < Count; ++v) lanes.vectors[First + v] = best[v];
  });
#pragma GCC unroll 8
  for (int width = kLaneVectors<T> / 2; width > 0; width /= 2) {
#pragma GCC unroll 8
    for (int v = 0; v < width; ++v)
      lanes.vectors[v] = extreme_of_vectors<T, Max>(lanes.vectors[v], lanes.vectors[v + width]);
  }
  T best = lanes.vectors[0][0];
  for (int i = 1; i < kVector<T>; ++i) best = extreme_of<T, Max>(best, lanes.vectors[0][i]);
  return best;
#endif
}

template <typename T, bool Max, int Width = kVector<T> / 2>
inline T extreme_in(Vector<T> vector) {
  if constexpr (Width == 0) {
    return vector[0];
  } else {
    Vector<T> other = turned<T, Width>(vector, std::make_index_sequence<size_t(kVector<T>)>());
    return extreme_in<T, Max, Width / 2>(extreme_of_vectors<T, Max>(vector, other));
  }
}

// n >= kVector<T>. The last vectors may overlap.
template <typename T, bool Max>
T extreme_of_vectors_in(const T* src, int64_t n) {
  Vector<T> best = load_vector(src);
  for (int64_t i = kVector<T>; i < n; i += kVector<T>)
    best = extreme_of_vectors<T, Max>(best, load_vector(src + least(i, n - kVector<T>)));
  return extreme_in<T, Max>(best);
}

template <typename T, bool Max>
T extreme_run(const T* src, int64_t n) {
  T best = src[0];
  int64_t i = 0;
  if constexpr (std::is_floating_point_v<T>) {
    if (n >= kLanes) {
      i = n / kLanes * kLanes;
      best = extreme_of_whole_lanes<T, Max>(src, i);
    }
    if (i < n && n >= kVector<T>) {
      int64_t from = least(i, n - kVector<T>);
      best = extreme_of<T, Max>(best, extreme_of_vectors_in<T, Max>(src + from, n - from));
      i = n;
    }
  } else if (n >= kLanes) {
    T lanes[kLanes];
    for (int lane = 0; lane < kLanes; ++lane) lanes[lane] = src[lane];
    for (i = kLanes; i + kLanes <= n; i += kLanes) {
      for (int lane = 0; lane < kLanes; ++lane) lanes[lane] = extreme_of<T, Max>(lanes[lane], src[i + lane]);
    }
    for (int width = kLanes / 2; width > 0; width /= 2) {
      for (int lane = 0; lane < width; ++lane) lanes[lane] = extreme_of<T, Max>(lanes[lane], lanes[lane + width]);
    }
    best = lanes[0];
  }
  for (; i < n; ++i) best = extreme_of<T, Max>(best, src[i]);
  return best;
}

template <typename T, bool Max>
void extreme_loop(const void* src, int64_t n, void* best) {
  *static_cast<T*>(best) = extreme_run<T, Max>(static_cast<const T*>(src), n);
}

// Compares whole blocks, so that the compiler vectorises.
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

// A dot product for each of several columns of b, bit-identical whether or not computed together with other columns.
template <typename T, int Columns>
inline __attribute__((always_inline)) void dots_of(const T* a, const T* b, int64_t b_step, int64_t n, T* out) {
  constexpr int kParts = 2;
  Vector<T> sums[Columns][kParts];
#pragma GCC unroll 4
  for (int c = 0; c < Columns; ++c) sums[c][0] = sums[c][1] = Vector<T>{};
  int64_t i = 0;
  for (; i + kParts * kVector<T> <= n; i += kParts * kVector<T>) {
    Vector<T> first = load_vector(a + i), second = load_vector(a + i + kVector<T>);
#pragma GCC unroll 4
    for (int c = 0; c < Columns; ++c) {
      sums[c][0] += first * load_vector(b + c * b_step + i);
      sums[c][1] += second * load_vector(b + c * b_step + i + kVector<T>);
    }
  }
  if (i + kVector<T> <= n) {
    Vector<T> last = load_vector(a + i);
#pragma GCC unroll 4
    for (int c = 0; c < Columns; ++c) sums[c][0] += last * load_vector(b + c * b_step + i);
    i += kVector<T>;
  }
#pragma GCC unroll 4
  for (int c = 0; c < Columns; ++c) {
    T rest = 0;
    for (int64_t k = i; k < n; ++k) rest += a[k] * b[c * b_step + k];
    out[c] = fold_vector<T>(sums[c][0] + sums[c][1]) + rest;
  }
}

// Recursive halving of long columns: the error grows with the logarithm of n.
template <typename T, int Columns>
void dots_pairwise(const T* a, const T* b, int64_t b_step, int64_t n, T* out) {
  constexpr int64_t kBlock = 4096;
  if (n <= kBlock) return dots_of<T, Columns>(a, b, b_step, n, out);
  int64_t half = (n / 2 + kBlock - 1) / kBlock * kBlock;
  T rest[Columns];
  dots_pairwise<T, Columns>(a, b, b_step, half, out);
  dots_pairwise<T, Columns>(a + half, b + half, b_step, n - half, rest);
  for (int c = 0; c < Columns; ++c) out[c] += rest[c];
}

template <typename T>
void dots_run(const T* a, const T* b, int64_t b_step, int64_t count, int64_t n, T* out) {
  constexpr int kColumns = 4;
  int64_t j = 0;
  for (; j + kColumns <= count; j += kColumns) dots_pairwise<T, kColumns>(a, b + j * b_step, b_step, n, out + j);
  for (; j < count; ++j) dots_pairwise<T, 1>(a, b + j * b_step, b_step, n, out + j);
}

template <typename T>
void axpy_run(T scale, const T* x, T* y, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) y[i] += scale * x[i];
}

template <typename T>
void exp_run(const T* src, T shift, T* dst, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) dst[i] = math_exp(src[i] - shift);
}
#if MD_LEVEL_BYTES >= 32
inline void exp_run(const float* src, float shift, float* dst, int64_t n) {
  map_floats(src, dst, n, [shift](Floats x) __attribute__((always_inline)) { return math_exp(x - shift); });
}
#endif

// Prefetches what follows src, likely the next row.
template <typename T>
T exp_sum_run(const T* src, T shift, T* dst, int64_t n) {
#if MD_LEVEL_BYTES >= 64
  if constexpr (std::is_same_v<T, float>) return avx512_exp_sum(src, shift, dst, n);
#endif
  constexpr int64_t kBlock = 256, kCacheLine = 64 / sizeof(T);
  for (int64_t at = 0; at < n; at += kBlock) {
    int64_t end = least(at + kBlock, n);
    for (int64_t i = at; i < end; i += kCacheLine) __builtin_prefetch(src + n + i);
    exp_run(src + at, shift, dst + at, end - at);
  }
  return sum_run(dst, n);
}

// By blocks: a block's sum is its mean, as rounded, times its length, plus the sum of the elements' differences from
// it. So the mean of equal elements is exact.
template <typename T>
double exact_sum_run(const T* src, int64_t n) {
  double total = 0;
  for (int64_t at = 0; at < n; at += kSumBlock) {
    int64_t length = least(n - at, kSumBlock);
    const T* block = src + at;
    T mean = sum_block(block, length) / T(length);
    if (__builtin_isfinite(mean)) {
      total += double(mean) * double(length);
      total += double(sum_in_lanes<T>(
          length, [=](int64_t i) { return load_vector(block + i) - mean; },
          [=](int64_t i) { return block[i] - mean; }));
    } else {
      for (int64_t i = 0; i < length; ++i) total += double(block[i]);
    }
  }
  return total;
}

// The sum of (element - mean)^2.
template <typename T>
double squares_run(const T* src, int64_t n, T mean) {
  double total = 0;
  for (int64_t at = 0; at < n; at += kSumBlock) {
    const T* block = src + at;
    auto square = [mean](auto value) {
      auto distance = value - mean;
      return distance * distance;
    };
    total += double(sum_in_lanes<T>(
        least(n - at, kSumBlock), [=](int64_t i) { return square(load_vector(block + i)); },
        [=](int64_t i) { return square(block[i]); }));
  }
  return total;
}

// Adds (x - pivot) and its square of n < kLanes elements, each to the lane that has its number.
template <typename T>
inline void add_last_differences(const T* block, int64_t n, T from, Lanes<T>& sums, Lanes<T>& products) {
  for (int64_t v = 0; v * kVector<T> < n; ++v) {
    Vector<T> difference = {};
    if (int64_t left = n - v * kVector<T>; left >= kVector<T>) {
      difference = load_vector(block + v * kVector<T>) - from;
    } else {
      for (int64_t k = 0; k < left; ++k) difference[k] = block[v * kVector<T> + k] - from;
    }
    sums.vectors[v] += difference;
    products.vectors[v] += difference * difference;
  }
}

// Sum and sum of squares of (x - pivot) over a block.
template <typename T>
void add_differences(const T* block, int64_t n, T from, double& sum, double& squares) {
  constexpr int64_t kFew = 16;  // elements: their lanes would take longer to be added
  if (n < kFew) {
    for (int64_t i = 0; i < n; ++i) {
      double difference = double(block[i] - from);
      sum += difference;
      squares += difference * difference;
    }
    return;
  }
  Lanes<T> sums, products;
  int64_t whole_end = n / kLanes * kLanes;
  for_lanes_in_registers<T, 2>([&]<int First, int Count>() __attribute__((always_inline)) {
    Vector<T> own_sums[Count] = {}, own_products[Count] = {};
    for (int64_t at = 0; at < whole_end; at += kLanes) {
#pragma GCC unroll 32
      for (int v = 0; v < Count; ++v) {
        Vector<T> difference = load_vector(block + at + (First + v) * kVector<T>) - from;
        own_sums[v] += difference;
        own_products[v] += difference * difference;
      }
    }
#pragma GCC unroll 32
    for (int v = 0; v < Count; ++v) {
      sums.vectors[First + v] = own_sums[v];
      products.vectors[First + v] = own_products[v];
    }
  });
  add_last_differences(block + whole_end, n - whole_end, from, sums, products);
  sum += double(fold_sum(sums));
  squares += double(fold_sum(products));
}

template <typename T>
void differences_run(const T* src, int64_t n, T from, double& sum, double& squares) {
  sum = squares = 0;
  for (int64_t at = 0; at < n; at += kSumBlock) add_differences(src + at, least(n - at, kSumBlock), from, sum, squares);
}

// In the same order at every level.
template <typename T>
T mean_of_first(const T* src, int64_t n) {
  constexpr int64_t kFirst = 16;
  if (n < kFirst) return T(double(sum_block(src, n)) / double(n));
  T sums[kFirst / 2];
  for (int64_t i = 0; i < kFirst / 2; ++i) sums[i] = src[i] + src[i + kFirst / 2];
#pragma GCC unroll 3
  for (int64_t width = kFirst / 4; width > 0; width /= 2) {
    for (int64_t i = 0; i < width; ++i) sums[i] += sums[i + width];
  }
  return sums[0] * T(1.0 / kFirst);
}

// The mean, and the sum of (element - mean)^2, computed from deviations from a pivot near the mean, which also
// correct the mean. The mean of the first elements is a good pivot unless its error exceeds the spread of the
// elements, so that digits cancel.
template <typename T>
void moments_run(const T* src, int64_t n, double* mean, double* squares) {
  T near = mean_of_first(src, n);
  double sum, products;
  if (__builtin_isfinite(near)) {
    differences_run(src, n, near, sum, products);
    double inverse = 1 / double(n), corrected = products - sum * sum * inverse;
    if (__builtin_isfinite(products) && corrected >= 0.5 * products) {
      *mean = double(near) + sum * inverse;
      *squares = corrected;
      return;
    }
  }
  near = T(double(sum_run(src, n)) / double(n));
  if (!__builtin_isfinite(near)) {
    *mean = exact_sum_run(src, n) / double(n);
    double off = *mean - double(T(*mean));
    *squares = squares_run(src, n, T(*mean)) - double(n) * off * off;
    return;
  }
  differences_run(src, n, near, sum, products);
  *mean = double(near) + sum / double(n);
  double corrected = products - sum * sum / double(n);
  *squares = corrected < 0 ? 0 : corrected;
}

template <typename T>
void normalize_run(const T* src, T* dst, int64_t n, double eps, const T* scale, const T* shift) {
  double exact_mean, squares;
  moments_run(src, n, &exact_mean, &squares);
  T mean = T(exact_mean);
  T factor = T(1 / __builtin_sqrt(squares / double(n) + eps));
  if (scale != nullptr && shift != nullptr) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) dst[i] = (src[i] - mean) * factor * scale[i] + shift[i];
    return;
  }
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) dst[i] = (src[i] - mean) * factor;
  if (scale != nullptr) {
    for (int64_t i = 0; i < n; ++i) dst[i] *= scale[i];
  }
  if (shift != nullptr) {
    for (int64_t i = 0; i < n; ++i) dst[i] += shift[i];
  }
}

// By blocks, so that the compiler vectorises the comparison.
inline bool indices_fit_run(const int64_t* index, int64_t n, int64_t extent) {
  constexpr int64_t kBlock = 512;
  for (int64_t at = 0; at < n; at += kBlock) {
    int64_t end = least(at + kBlock, n), outside = 0;
    for (int64_t i = at; i < end; ++i) outside |= (index[i] < 0) | (index[i] >= extent);
    if (outside != 0) return false;
  }
  return true;
}

// Reads while indices are within [0, extent), checking blocks with vectors, so that reads do not wait for
// checks. Returns the number read.
template <typename Word, typename Place>
inline int64_t take_plain(const Word* src, const int64_t* index, int64_t n, int64_t extent, Word* dst, Place place) {
  constexpr int64_t kBlock = 128;
  int64_t at = 0;
  for (; at + kBlock <= n; at += kBlock) {
    if (!indices_fit_run(index + at, kBlock, extent)) return at;
#pragma GCC unroll 8
    for (int64_t i = at; i < at + kBlock; ++i) dst[i] = src[place(index[i])];
  }
  for (; at < n; ++at) {
    if (uint64_t(index[at]) >= uint64_t(extent)) return at;
    dst[at] = src[place(index[at])];
  }
  return n;
}

// By blocks: if one contains a negative or invalid index, its positions are computed in vectors first.
template <typename Word>
bool take_run(const Word* src, const int64_t* index, int64_t n, int64_t extent, int64_t wrapped, int64_t stride,
              Word* dst) {
  constexpr int64_t kBlock = 256;
  int64_t offsets[kBlock], outside = 0;
  for (int64_t at = 0, length; at < n; at += length) {
    length = stride == 1 ? take_plain(src, index + at, n - at, extent, dst + at, [](int64_t place) { return place; })
                         : take_plain(src, index + at, n - at, extent, dst + at,
                                      [stride](int64_t place) { return place * stride; });
    at += length;
    length = least(n - at, kBlock);
    for (int64_t i = 0; i < length; ++i) {
      int64_t place = index[at + i] + (index[at + i] < 0 ? wrapped : 0);
      bool is_outside = (place < 0) | (place >= extent);
      outside |= is_outside;
      offsets[i] = (is_outside ? 0 : place) * stride;
    }
#pragma GCC unroll 8
    for (int64_t i = 0; i < length; ++i) dst[at + i] = src[offsets[i]];
  }
  return outside == 0;
}

// Element i of the result is element i - Width, or zero.
template <typename T, int Width, size_t... I>
inline Vector<T> moved_up(Vector<T> vector, std::index_sequence<I...>) {
  return __builtin_shuffle(vector, Vector<T>{}, VectorIndex<T>{(int(I) < Width ? kVector<T> : int(I) - Width)...});
}

// Prefix sum within a vector.
template <typename T, int Width = 1>
inline Vector<T> sums_up_to(Vector<T> vector) {
  if constexpr (Width >= kVector<T>) {
    return vector;
  } else {
    vector += moved_up<T, Width>(vector, std::make_index_sequence<size_t(kVector<T>)>());
    return sums_up_to<T, Width * 2>(vector);
  }
}

// dst may be src. The sum of preceding vectors is kept in double: float32 would lose a bit with each doubling of the
// length.
template <typename T>
double running_sum_run(const T* src, T* dst, int64_t n, double total) {
  int64_t i = 0;
  for (; i + kVector<T> <= n; i += kVector<T>) {
    Vector<T> sums = sums_up_to<T>(load_vector(src + i));
    *reinterpret_cast<Vector<T>*>(dst + i) = sums + T(total);
    total += double(sums[kVector<T> - 1]);
  }
  for (; i < n; ++i) {
    total += double(src[i]);
    dst[i] = T(total);
  }
  return total;
}

template <typename T>
constexpr void fill_folds(LoopTable& table, DType dtype) {
  if constexpr (std::is_arithmetic_v<T>) {
    using Word = std::conditional_t<sizeof(T) == sizeof(int64_t), Wrapping<T>, T>;
    table.sum[static_cast<int>(dtype)] = sum_loop<Word>;
    table.product[static_cast<int>(dtype)] = product_loop<Word>;
  }
  if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
    table.extreme[static_cast<int>(dtype)][0] = extreme_loop<T, false>;
    table.extreme[static_cast<int>(dtype)][1] = extreme_loop<T, true>;
    table.find[static_cast<int>(dtype)] = find_loop<Wrapping<T>>;
  }
}

template <typename T>
constexpr FloatLoops<T> float_loops() {
  return {.sum = sum_run<T>,
          .max = extreme_run<T, true>,
          .min = extreme_run<T, false>,
          .gemm = gemm_loops<T>(),
          .dots = dots_run<T>,
          .axpy = axpy_run<T>,
          .exact_sum = exact_sum_run<T>,
          .squares = squares_run<T>,
          .moments = moments_run<T>,
          .normalize = normalize_run<T>,
          .running_sum = running_sum_run<T>,
          .exp_sum = exp_sum_run<T>};
}

constexpr void fill_blocks(LoopTable& table) {
#define MD_DTYPE(name, ctype, ...) fill_folds<ctype>(table, DType::name);
#define MD_COMPLEX_DTYPE(...)
#include "tensor/dtypes.def"
#undef MD_DTYPE
  table.f32 = float_loops<float>();
  table.f64 = float_loops<double>();
  table.winograd = winograd_loops();
  table.indices_fit = indices_fit_run;
  table.take_words = take_run<uint32_t>;
  table.take_long_words = take_run<uint64_t>;
}
