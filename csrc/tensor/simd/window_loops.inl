// Windows of rows, one in each lane: element k of window i is at places[k] + i * step.

// Elements of a vector's windows; Step 0 is any.
template <typename T, int Step, int... I>
inline Vector<T> load_every_third(const T* src, std::integer_sequence<int, I...>) {
  constexpr int kBoth = 2 * kVector<T>;
  Vector<T> a = load_vector(src), b = load_vector(src + kVector<T>), c = load_vector(src + kBoth);
  Vector<T> both = __builtin_shufflevector(a, b, (3 * I < kBoth ? 3 * I : 0)...);
  return __builtin_shufflevector(both, c, (3 * I < kBoth ? I : 3 * I - kVector<T>)...);
}
template <typename T, int Step>
inline Vector<T> load_apart_by(const T* src, const int64_t* lanes) {
  constexpr int kCount = kVector<T>;
  if constexpr (Step == 1) {
    return load_vector(src);
  } else if constexpr (Step == 2) {
    return every_second<T, 0>(load_vector(src), load_vector(src + kCount), kLanesOf<T>);
  } else if constexpr (Step == 3) {
    return load_every_third<T, Step>(src, kLanesOf<T>);
  } else if constexpr (Step == 4) {
    return every_second<T, 0>(load_apart_by<T, 2>(src, lanes), load_apart_by<T, 2>(src + 2 * kCount, lanes),
                              kLanesOf<T>);
  } else {
    T found[kCount];
#pragma GCC unroll 16
    for (int lane = 0; lane < kCount; ++lane) found[lane] = src[lanes[lane]];
    return load_vector(found);
  }
}

template <typename T>
inline void store_first(Vector<T> vector, int64_t n, T* dst) {
  if (n == kVector<T>) return store_vector<T>(vector, dst);
  T lanes[kVector<T>];
  store_vector<T>(vector, lanes);
  for (int64_t i = 0; i < n; ++i) dst[i] = lanes[i];
}

// A vector of windows: the elements of each, from the first one's on. Those beyond the last window are read as well, by
// lanes as that window.
template <typename T>
struct LanesOfWindows {
  const T* src;
  int64_t lanes[kVector<T>];
  int64_t count;

  LanesOfWindows(const WindowRow<T>& row, int64_t first, int64_t n)
      : src(row.src + first * row.step), count(n - first < kVector<T> ? n - first : kVector<T>) {
    for (int64_t lane = 0; lane < kVector<T>; ++lane) lanes[lane] = (lane < count ? lane : count - 1) * row.step;
  }
  template <int Step>
  Vector<T> load(int64_t place) const {
    return load_apart_by<T, Step>(src + place, lanes);
  }
};

// How many windows whole vectors may read.
template <typename T, int Step>
inline int64_t windows_in_vectors(const WindowRow<T>& row, int64_t n) {
  if constexpr (Step == 0) return n;
  int64_t room = row.readable - row.places[row.count - 1];
  int64_t vectors = room < 0 ? 0 : room / (kVector<T> * row.step), wanted = (n + kVector<T> - 1) / kVector<T>;
  return vectors >= wanted ? n : vectors * kVector<T>;
}

template <typename V>
inline auto is_larger(V now, V value) {
  return (now > value) | (now != now);
}

// The first of equal elements, the last NaN.
template <typename T, int Step>
int64_t largest_in_vectors(const WindowRow<T>& row, int64_t n, T* values, int64_t* places) {
  using Place = std::conditional_t<sizeof(T) == sizeof(int32_t), int32_t, int64_t>;
  int64_t whole = windows_in_vectors<T, Step>(row, n);
  for (int64_t i = 0; i < whole; i += kVector<T>) {
    LanesOfWindows<T> windows(row, i, n);
    Vector<T> value = windows.template load<Step>(row.places[0]);
    Vector<Place> place = Vector<Place>{} + Place(row.places[0]);
    for (int64_t k = 1; k < row.count; ++k) {
      Vector<T> now = windows.template load<Step>(row.places[k]);
      auto takes = is_larger(now, value);
      value = takes ? now : value;
      place = takes ? Vector<Place>{} + Place(row.places[k]) : place;
    }
    store_first<T>(value, windows.count, values + i);
    Place found[kVector<T>];
    store_vector<Place>(place, found);
    for (int64_t lane = 0; lane < windows.count; ++lane) places[i + lane] = found[lane] + (i + lane) * row.step;
  }
  return whole;
}

template <typename T, int Step>
int64_t largest_values_in_vectors(const WindowRow<T>& row, int64_t n, T* values) {
  int64_t whole = windows_in_vectors<T, Step>(row, n);
  for (int64_t i = 0; i < whole; i += kVector<T>) {
    LanesOfWindows<T> windows(row, i, n);
    Vector<T> value = windows.template load<Step>(row.places[0]);
    for (int64_t k = 1; k < row.count; ++k) {
      Vector<T> now = windows.template load<Step>(row.places[k]);
      value = is_larger(now, value) ? now : value;
    }
    store_first<T>(value, windows.count, values + i);
  }
  return whole;
}

template <typename T, int Step>
int64_t means_in_vectors(const WindowRow<T>& row, int64_t n, T divisor, T* means) {
  int64_t whole = windows_in_vectors<T, Step>(row, n);
  for (int64_t i = 0; i < whole; i += kVector<T>) {
    LanesOfWindows<T> windows(row, i, n);
    Vector<T> total = {};
    for (int64_t k = 0; k < row.count; ++k) total += windows.template load<Step>(row.places[k]);
    store_first<T>(total / (Vector<T>{} + divisor), windows.count, means + i);
  }
  return whole;
}

template <typename Run>
inline int64_t with_step(int64_t step, const Run& run) {
  switch (step) {
    case 1:
      return run(std::integral_constant<int, 1>());
    case 2:
      return run(std::integral_constant<int, 2>());
    case 3:
      return run(std::integral_constant<int, 3>());
    case 4:
      return run(std::integral_constant<int, 4>());
    default:
      return run(std::integral_constant<int, 0>());
  }
}

template <typename T>
void largest_of_windows_run(const WindowRow<T>& row, int64_t n, T* values, int64_t* places) {
  int64_t done = with_step(row.step, [&]<int Step>(std::integral_constant<int, Step>) __attribute__((always_inline)) {
    return largest_in_vectors<T, Step>(row, n, values, places);
  });
  for (int64_t i = done; i < n; ++i) {
    const T* src = row.src + i * row.step;
    T value = src[row.places[0]];
    int64_t place = row.places[0];
    for (int64_t k = 1; k < row.count; ++k) {
      T now = src[row.places[k]];
      bool is_larger = now > value || now != now;
      value = is_larger ? now : value;
      place = is_larger ? row.places[k] : place;
    }
    values[i] = value;
    places[i] = place + i * row.step;
  }
}

template <typename T>
void largest_values_of_windows_run(const WindowRow<T>& row, int64_t n, T* values) {
  int64_t done = with_step(row.step, [&]<int Step>(std::integral_constant<int, Step>) __attribute__((always_inline)) {
    return largest_values_in_vectors<T, Step>(row, n, values);
  });
  for (int64_t i = done; i < n; ++i) {
    const T* src = row.src + i * row.step;
    T value = src[row.places[0]];
    for (int64_t k = 1; k < row.count; ++k) {
      T now = src[row.places[k]];
      value = now > value || now != now ? now : value;
    }
    values[i] = value;
  }
}

template <typename T, int Step>
void largest_in_row(const T* row, const WindowsOfRow& windows, T* values) {
  for (int64_t x = 0; x < windows.count; x += kVector<T>) {
    const T* at = row + x * Step;
    Vector<T> value = load_apart_by<T, Step>(at, nullptr);
    for (int64_t k = 1; k < windows.kernel; ++k) {
      at += windows.dilation;
      Vector<T> now = load_apart_by<T, Step>(at, nullptr);
      value = is_larger(now, value) ? now : value;
    }
    store_vector<T>(value, values + x);
  }
}

template <typename T>
void largest_by_columns_run(const T* row, const WindowsOfRow& windows, T* values) {
  with_step(windows.step, [&]<int Step>(std::integral_constant<int, Step>) __attribute__((always_inline)) {
    if constexpr (Step != 0) {
      largest_in_row<T, Step>(row, windows, values);
    } else {
      for (int64_t x = 0; x < windows.count; ++x) {
        const T* at = row + x * windows.step;
        T value = *at;
        for (int64_t k = 1; k < windows.kernel; ++k) {
          T now = at[k * windows.dilation];
          value = now > value || now != now ? now : value;
        }
        values[x] = value;
      }
    }
    return int64_t{0};
  });
}

template <typename T>
void largest_of_rows_run(std::span<const T* const> rows, int64_t n, const T* last, T* values) {
  for (int64_t x = 0; x < n; x += kVector<T>) {
    Vector<T> value = load_vector(rows[0] + x);
    for (size_t k = 1; k < rows.size(); ++k) {
      Vector<T> now = load_vector(rows[k] + x);
      value = is_larger(now, value) ? now : value;
    }
    bool is_whole = last - (values + x) >= kVector<T>;
    store_first<T>(value, is_whole ? kVector<T> : n - x, values + x);
  }
}

template <typename T, int Step>
void means_in_rows(std::span<const T* const> rows, const WindowsOfRow& windows, const T* divisors, const T* last,
                   T* means) {
  for (int64_t x = 0; x < windows.count; x += kVector<T>) {
    Vector<T> total = {};
    for (const T* row : rows) {
      const T* at = row + x * Step;
      for (int64_t k = 0; k < windows.kernel; ++k, at += windows.dilation) total += load_apart_by<T, Step>(at, nullptr);
    }
    bool is_whole = last - (means + x) >= kVector<T>;
    store_first<T>(total / load_vector(divisors + x), is_whole ? kVector<T> : windows.count - x, means + x);
  }
}

template <typename T>
void means_of_rows_run(std::span<const T* const> rows, const WindowsOfRow& windows, const T* divisors, const T* last,
                       T* means) {
  with_step(windows.step, [&]<int Step>(std::integral_constant<int, Step>) __attribute__((always_inline)) {
    if constexpr (Step != 0) {
      means_in_rows<T, Step>(rows, windows, divisors, last, means);
    } else {
      for (int64_t x = 0; x < windows.count; ++x) {
        T total = 0;
        for (const T* row : rows)
          for (int64_t k = 0; k < windows.kernel; ++k) total += row[x * windows.step + k * windows.dilation];
        means[x] = total / divisors[x];
      }
    }
    return int64_t{0};
  });
}

template <typename T>
void means_of_windows_run(const WindowRow<T>& row, int64_t n, T divisor, T* means) {
  int64_t done = with_step(row.step, [&]<int Step>(std::integral_constant<int, Step>) __attribute__((always_inline)) {
    return means_in_vectors<T, Step>(row, n, divisor, means);
  });
  for (int64_t i = done; i < n; ++i) {
    T total = 0;
    for (int64_t k = 0; k < row.count; ++k) total += row.src[row.places[k] + i * row.step];
    means[i] = total / divisor;
  }
}
