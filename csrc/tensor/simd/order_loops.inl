// Keys, selections, sorts of columns, and searches.

template <typename T>
inline KeyOf<T> key_of(T value) {
  using Key = KeyOf<T>;
  if constexpr (std::is_same_v<T, bool>) {
    return value ? 1 : 0;
  } else if constexpr (std::is_integral_v<T>) {
    // Unsigned ones of the keys' own width: with the highest bit turned, in the order of signed ones.
    constexpr bool kTurns = std::is_unsigned_v<T> && sizeof(T) == sizeof(Key);
    constexpr Key kHighest = kTurns ? std::numeric_limits<Key>::min() : 0;
    return static_cast<Key>(value) ^ kHighest;
  } else {
    using Bits = KeyBits<T>;
    Key bits;
    if constexpr (sizeof(T) == sizeof(Key)) {
      __builtin_memcpy(&bits, &value, sizeof bits);
    } else {
      bits = static_cast<int16_t>(value.bits);
    }
    Key key = bits ^ ((bits >> (sizeof(Key) * 8 - 1)) & Bits::kMagnitude);
    key = key == -1 ? 0 : key;  // -0.0
    return key > Bits::kInfinity || key < ~Bits::kInfinity ? Bits::kNan : key;
  }
}

template <typename T>
void keys_run(const void* src, int64_t n, bool descending, void* dst) {
  const T* values = static_cast<const T*>(src);
  auto* keys = static_cast<KeyOf<T>*>(dst);
  KeyOf<T> turn = descending ? -1 : 0;
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) keys[i] = key_of(values[i]) ^ turn;
}

template <typename Key>
void extremes_run(const Key* keys, int64_t n, Key* least, Key* most) {
  Key low = keys[0], high = keys[0];
  for (int64_t i = 0; i < n; ++i) {
    low = keys[i] < low ? keys[i] : low;
    high = keys[i] > high ? keys[i] : high;
  }
  *least = low;
  *most = high;
}

template <typename Key>
int64_t collect_run(const Key* keys, int64_t n, Key least, Key most, Key* kept, int64_t* below) {
  int64_t count = 0, under = 0, i = 0;
  for (; i + kVector<Key> <= n; i += kVector<Key>) {
    Vector<Key> these = load_vector(keys + i);
    uint32_t lower = bits_of<Key>(these < least), inside = bits_of<Key>(these <= most) & ~lower;
    under += __builtin_popcount(lower);
    for (; inside != 0; inside &= inside - 1) kept[count++] = keys[i + __builtin_ctz(inside)];
  }
  for (; i < n; ++i) {
    under += keys[i] < least;
    if (keys[i] >= least && keys[i] <= most) kept[count++] = keys[i];
  }
  *below += under;
  return count;
}

template <typename Key>
int64_t find_run(const Key* keys, int64_t n, Key least, Key most, int64_t limit, int64_t* places) {
  int64_t count = 0, i = 0;
  for (; i + kVector<Key> <= n && count < limit; i += kVector<Key>) {
    Vector<Key> these = load_vector(keys + i);
    uint32_t inside = bits_of<Key>(these <= most) & bits_of<Key>(these >= least);
    for (; inside != 0 && count < limit; inside &= inside - 1) places[count++] = i + __builtin_ctz(inside);
  }
  for (; i < n && count < limit; ++i) {
    if (keys[i] >= least && keys[i] <= most) places[count++] = i;
  }
  return count;
}

template <typename Key>
struct SwapKeys {
  Key* block;
  // Rows a < b: the lesser key of each column to row a.
  void operator()(int64_t a, int64_t b) const {
    Key* upper = block + a * kOrderColumns<Key>;
    Key* lower = block + b * kOrderColumns<Key>;
    for (int64_t i = 0; i < kOrderColumns<Key>; i += kVector<Key>) {
      Vector<Key> x = load_vector(upper + i), y = load_vector(lower + i);
      auto keeps = x < y;
      store_vector<Key>(keeps ? x : y, upper + i);
      store_vector<Key>(keeps ? y : x, lower + i);
    }
  }
};

struct SwapPlaces {
  int64_t* keys;
  int64_t* places;
  void operator()(int64_t a, int64_t b) const {
    constexpr int64_t kColumns = kOrderColumns<int64_t>;
    for (int64_t i = 0; i < kColumns; i += kVector<int64_t>) {
      Vector<int64_t> x = load_vector(keys + a * kColumns + i), y = load_vector(keys + b * kColumns + i);
      Vector<int64_t> p = load_vector(places + a * kColumns + i), q = load_vector(places + b * kColumns + i);
      auto keeps = (x < y) | ((x == y) & (p < q));
      store_vector<int64_t>(keeps ? x : y, keys + a * kColumns + i);
      store_vector<int64_t>(keeps ? y : x, keys + b * kColumns + i);
      store_vector<int64_t>(keeps ? p : q, places + a * kColumns + i);
      store_vector<int64_t>(keeps ? q : p, places + b * kColumns + i);
    }
  }
};

// Batcher's odd-even merge sort, of which n rows need the comparisons among themselves.
template <typename Swap>
inline void odd_even_merge_sort(int64_t n, const Swap& swap) {
  int merged = 1;  // runs of 1 << merged rows are made
  for (int64_t run = 1; run < n; run *= 2, ++merged) {
    for (int64_t apart = run; apart > 0; apart /= 2) {
      for (int64_t start = apart & (run - 1); start + apart < n; start += 2 * apart) {
        int64_t end = start + apart < n - apart ? start + apart : n - apart;
        for (int64_t i = start; i < end; ++i) {
          if (i >> merged == (i + apart) >> merged) swap(i, i + apart);
        }
      }
    }
  }
}

template <typename Key>
void sort_columns_run(Key* block, int64_t n) {
  odd_even_merge_sort(n, SwapKeys<Key>{block});
}

void sort_places_run(int64_t* keys, int64_t* places, int64_t n) { odd_even_merge_sort(n, SwapPlaces{keys, places}); }

// Values that are looked for at once, so that their loads overlap.
constexpr int64_t kSearches = 16;

template <typename T>
inline auto number_of(T value) {
  if constexpr (std::is_same_v<T, Half>) {
    return value.to_float();
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    uint32_t bits = static_cast<uint32_t>(value.bits) << 16;
    float number;
    __builtin_memcpy(&number, &bits, sizeof number);
    return number;
  } else {
    return value;
  }
}

template <bool Right, typename T>
inline void place_some(const T* sorted, int64_t extent, const T* values, int64_t n, int64_t* places) {
  decltype(number_of(T{})) wanted[kSearches];
  int64_t first[kSearches], left[kSearches];
  for (int64_t k = 0; k < kSearches; ++k) {
    wanted[k] = number_of(values[k < n ? k : n - 1]);
    first[k] = 0;
    left[k] = extent;
  }
  for (int64_t longest = extent; longest > 0; longest /= 2) {
#pragma GCC unroll 16
    for (int64_t k = 0; k < kSearches; ++k) {
      int64_t half = left[k] / 2, middle = first[k] + half;
      auto element = number_of(sorted[middle < extent ? middle : extent - 1]);
      bool is_before = Right ? !(element > wanted[k]) : !(element >= wanted[k]);
      // By masks: a branch would be mispredicted every other time.
      int64_t moves = -static_cast<int64_t>(is_before & (left[k] > 0)), longer = left[k] - half - 1;
      first[k] += (half + 1) & moves;
      left[k] = half ^ ((half ^ longer) & moves);
    }
  }
  for (int64_t k = 0; k < n; ++k) places[k] = first[k];
}

template <typename T>
void places_run(const void* sorted, int64_t extent, const void* values, int64_t n, bool right, int64_t* places) {
  if (extent == 0) {
    for (int64_t i = 0; i < n; ++i) places[i] = 0;
    return;
  }
  for (int64_t i = 0; i < n; i += kSearches) {
    int64_t count = n - i < kSearches ? n - i : kSearches;
    const T* from = static_cast<const T*>(values) + i;
    if (right) {
      place_some<true>(static_cast<const T*>(sorted), extent, from, count, places + i);
    } else {
      place_some<false>(static_cast<const T*>(sorted), extent, from, count, places + i);
    }
  }
}

template <typename Key>
constexpr KeyLoops<Key> key_loops() {
  return {extremes_run<Key>, collect_run<Key>, find_run<Key>, vector_sort<Key>(), sort_columns_run<Key>};
}
