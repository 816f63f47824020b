// A quicksort whose partitions and small ranges are vectorised.

// Bit i: whether element i of a mask of a comparison is set.
template <typename Key, typename Mask>
inline uint32_t bits_of(Mask mask) {
#if defined(__x86_64__) && MD_LEVEL_BYTES == 32
  if constexpr (sizeof(Key) == 4) {
    return static_cast<uint32_t>(_mm256_movemask_ps(reinterpret_cast<__m256>(mask)));
  } else {
    return static_cast<uint32_t>(_mm256_movemask_pd(reinterpret_cast<__m256d>(mask)));
  }
#elif defined(__x86_64__) && MD_LEVEL_BYTES == 64
  if constexpr (sizeof(Key) == 4) {
    return static_cast<uint32_t>(_mm512_movepi32_mask(reinterpret_cast<__m512i>(mask)));
  } else {
    return static_cast<uint32_t>(_mm512_movepi64_mask(reinterpret_cast<__m512i>(mask)));
  }
#else
  uint32_t bits = 0;
  for (int i = 0; i < kVector<Key>; ++i) bits |= (mask[i] != 0 ? 1u : 0u) << i;
  return bits;
#endif
}

#if defined(__x86_64__) && MD_LEVEL_BYTES >= 32
// In eight vectors of 32 bytes: there are sixteen registers.
template <typename Key>
constexpr int64_t kNetworkKeys = 256 / static_cast<int64_t>(sizeof(Key));

template <typename Key>
using Lanes __attribute__((vector_size(MD_LEVEL_BYTES))) = Key;

template <typename Key, int Mask, int... Lane>
inline Lanes<Key> exchanged(Lanes<Key> x, std::integer_sequence<int, Lane...>) {
  return __builtin_shuffle(x, Lanes<Key>{(Lane ^ Mask)...});
}
template <typename Key, int Mask>
inline Lanes<Key> exchanged(Lanes<Key> x) {
  return exchanged<Key, Mask>(x, std::make_integer_sequence<int, kVector<Key>>());
}
template <typename Key, int Bit, int... Lane>
inline Lanes<Key> lanes_with(std::integer_sequence<int, Lane...>) {
  return Lanes<Key>{((Lane & Bit) != 0 ? Key{-1} : Key{0})...};
}

constexpr int highest_bit(int mask) {
  int bit = 1;
  while (bit * 2 <= mask) bit *= 2;
  return bit;
}

template <typename Key>
inline Lanes<Key> lesser(Lanes<Key> x, Lanes<Key> y) {
  return x < y ? x : y;
}
template <typename Key>
inline Lanes<Key> greater(Lanes<Key> x, Lanes<Key> y) {
  return x < y ? y : x;
}

// Orders each lane and the one whose number differs in Mask.
template <typename Key, int Mask>
inline Lanes<Key> ordered_lanes(Lanes<Key> x) {
  Lanes<Key> other = exchanged<Key, Mask>(x);
  auto is_upper = lanes_with<Key, highest_bit(Mask)>(std::make_integer_sequence<int, kVector<Key>>());
  if constexpr (sizeof(Key) == 4) return is_upper ? greater<Key>(x, other) : lesser<Key>(x, other);
  return (x < other) ^ is_upper ? x : other;
}

// The last steps of a merge, inside each vector.
template <typename Key, int Apart, int Count>
inline void finish_merge(Lanes<Key>* x) {
  if constexpr (Apart > 0) {
    for (int i = 0; i < Count; ++i) x[i] = ordered_lanes<Key, Apart>(x[i]);
    finish_merge<Key, Apart / 2, Count>(x);
  }
}
template <typename Key, int Run, int Count>
inline void sort_lanes(Lanes<Key>* x) {
  if constexpr (Run <= kVector<Key>) {
    for (int i = 0; i < Count; ++i) x[i] = ordered_lanes<Key, Run - 1>(x[i]);
    finish_merge<Key, Run / 4, Count>(x);
    sort_lanes<Key, Run * 2, Count>(x);
  }
}

// A bitonic sort of Count vectors, in which each merge begins with one half reversed.
template <typename Key, int Count>
inline void sort_vectors(Key* keys) {
  Lanes<Key> x[Count];
  for (int i = 0; i < Count; ++i) x[i] = load_vector(keys + i * kVector<Key>);
  sort_lanes<Key, 2, Count>(x);
#pragma GCC unroll 8
  for (int run = 2; run <= Count; run *= 2) {
#pragma GCC unroll 16
    for (int i = 0; i < Count; ++i) {
      int other = i ^ (run - 1);
      if (i < other) {
        Lanes<Key> reversed = exchanged<Key, kVector<Key> - 1>(x[other]);
        x[other] = exchanged<Key, kVector<Key> - 1>(greater<Key>(x[i], reversed));
        x[i] = lesser<Key>(x[i], reversed);
      }
    }
#pragma GCC unroll 8
    for (int apart = run / 4; apart > 0; apart /= 2) {
#pragma GCC unroll 16
      for (int i = 0; i < Count; ++i) {
        if ((i & apart) == 0) {
          Lanes<Key> low = lesser<Key>(x[i], x[i + apart]);
          x[i + apart] = greater<Key>(x[i], x[i + apart]);
          x[i] = low;
        }
      }
    }
    finish_merge<Key, kVector<Key> / 2, Count>(x);
  }
  for (int i = 0; i < Count; ++i) store_vector<Key>(x[i], keys + i * kVector<Key>);
}

template <typename Key>
inline void sort_few(Key* keys, int64_t n) {
  alignas(64) Key padded[kNetworkKeys<Key>];
  int64_t size = n <= kNetworkKeys<Key> / 4   ? kNetworkKeys<Key> / 4
                 : n <= kNetworkKeys<Key> / 2 ? kNetworkKeys<Key> / 2
                                              : kNetworkKeys<Key>;
  for (int64_t i = 0; i < n; ++i) padded[i] = keys[i];
  for (int64_t i = n; i < size; ++i) padded[i] = std::numeric_limits<Key>::max();
  constexpr int kCount = kNetworkKeys<Key> / kVector<Key>;
  if (size == kNetworkKeys<Key> / 4) {
    sort_vectors<Key, kCount / 4>(padded);
  } else if (size == kNetworkKeys<Key> / 2) {
    sort_vectors<Key, kCount / 2>(padded);
  } else {
    sort_vectors<Key, kCount>(padded);
  }
  for (int64_t i = 0; i < n; ++i) keys[i] = padded[i];
}

#if MD_LEVEL_BYTES == 32
// The lanes whose bits are set in a mask, in order, then any.
struct PackedLanes {
  alignas(32) int32_t narrow[256][8];
  alignas(32) int32_t wide[16][8];
};
constexpr PackedLanes packed_lanes() {
  PackedLanes found{};
  for (int mask = 0; mask < 256; ++mask) {
    int count = 0;
    for (int lane = 0; lane < 8; ++lane) {
      if ((mask >> lane & 1) != 0) found.narrow[mask][count++] = lane;
    }
  }
  for (int mask = 0; mask < 16; ++mask) {
    int count = 0;
    for (int lane = 0; lane < 4; ++lane) {
      if ((mask >> lane & 1) == 0) continue;
      found.wide[mask][count * 2] = lane * 2;
      found.wide[mask][count * 2 + 1] = lane * 2 + 1;
      ++count;
    }
  }
  return found;
}
constexpr PackedLanes kPackedLanes = packed_lanes();
#endif

// Stores the lanes of a mask at dst, and anything behind them, up to a vector.
template <typename Key>
inline void store_packed(Lanes<Key> x, uint32_t mask, Key* dst) {
#if MD_LEVEL_BYTES == 32
  const int32_t* lanes = sizeof(Key) == 4 ? kPackedLanes.narrow[mask] : kPackedLanes.wide[mask];
  __m256i order = _mm256_load_si256(reinterpret_cast<const __m256i*>(lanes));
  __m256i packed = _mm256_permutevar8x32_epi32(reinterpret_cast<__m256i>(x), order);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(dst), packed);
#else
  if constexpr (sizeof(Key) == 4) {
    _mm512_storeu_si512(dst, _mm512_maskz_compress_epi32(static_cast<__mmask16>(mask), reinterpret_cast<__m512i>(x)));
  } else {
    _mm512_storeu_si512(dst, _mm512_maskz_compress_epi64(static_cast<__mmask8>(mask), reinterpret_cast<__m512i>(x)));
  }
#endif
}

// Keys less than the pivot, or at most the pivot, to the front; returns how many.
template <bool WithEqual, typename Key>
inline int64_t partition(Key* keys, int64_t n, Key pivot, Key* scratch) {
  constexpr uint32_t kAll = (1u << kVector<Key>)-1;
  int64_t front = 0, back = 0, i = 0;
  for (; i + kVector<Key> <= n; i += kVector<Key>) {
    Lanes<Key> x = load_vector(keys + i);
    uint32_t mask = WithEqual ? bits_of<Key>(x > pivot) ^ kAll : bits_of<Key>(x < pivot);
    int64_t count = __builtin_popcount(mask);
    store_packed<Key>(x, mask, keys + front);
    store_packed<Key>(x, mask ^ kAll, scratch + back);
    front += count;
    back += kVector<Key> - count;
  }
  for (; i < n; ++i) {
    Key key = keys[i];
    bool is_front = WithEqual ? key <= pivot : key < pivot;
    keys[front] = key;
    scratch[back] = key;
    front += is_front;
    back += !is_front;
  }
  for (int64_t k = 0; k < back; k += kVector<Key>) store_vector<Key>(load_vector(scratch + k), keys + front + k);
  return front;
}

template <typename Key>
inline void sift_down(Key* keys, int64_t n, int64_t at) {
  for (int64_t below; (below = 2 * at + 1) < n; at = below) {
    if (below + 1 < n && keys[below] < keys[below + 1]) ++below;
    if (keys[at] >= keys[below]) return;
    Key key = keys[at];
    keys[at] = keys[below];
    keys[below] = key;
  }
}

// Where pivots were bad too often.
template <typename Key>
void heap_sort(Key* keys, int64_t n) {
  for (int64_t at = n / 2; at-- > 0;) sift_down(keys, n, at);
  for (int64_t end = n; --end > 0;) {
    Key key = keys[0];
    keys[0] = keys[end];
    keys[end] = key;
    sift_down(keys, end, 0);
  }
}

template <typename Key>
void sort_range(Key* keys, int64_t n, Key* scratch, int levels) {
  while (n > kNetworkKeys<Key>) {
    if (levels-- == 0) return heap_sort(keys, n);
    constexpr int64_t kSample = 16;
    Key sample[kSample];
    for (int64_t i = 0; i < kSample; ++i) sample[i] = keys[(2 * i + 1) * n / (2 * kSample)];
    sort_few(sample, kSample);
    Key pivot = sample[kSample / 2];
    // What lies behind the range is overwritten with itself: a partition stores whole vectors.
    Key behind[kVector<Key>];
    for (int64_t i = 0; i < kVector<Key>; ++i) behind[i] = keys[n + i];
    int64_t front = partition<false>(keys, n, pivot, scratch);
    bool is_least = front == 0;
    if (is_least) front = partition<true>(keys, n, pivot, scratch);
    for (int64_t i = 0; i < kVector<Key>; ++i) keys[n + i] = behind[i];
    if (is_least) {
      keys += front;
      n -= front;
    } else if (front < n - front) {
      sort_range(keys, front, scratch, levels);
      keys += front;
      n -= front;
    } else {
      sort_range(keys + front, n - front, scratch, levels);
      n = front;
    }
  }
  sort_few(keys, n);
}

template <typename Key>
void sort_run(Key* keys, int64_t n, Key* scratch) {
  int levels = 8;
  for (int64_t left = n; left > 0; left /= 2) levels += 2;
  sort_range(keys, n, scratch, levels);
}
#endif

template <typename Key>
constexpr auto vector_sort() -> void (*)(Key*, int64_t, Key*) {
#if defined(__x86_64__) && MD_LEVEL_BYTES >= 32
  return sort_run<Key>;
#else
  return nullptr;
#endif
}
