// Row operations on 64-byte vectors, with instructions that the compiler does not select by itself. GCC 12 warns of
// uninitialised reads in unmasked intrinsics, so full masks are used.

// kLanes elements: stores the exponentials and adds them to the lanes.
inline __attribute__((always_inline)) void exp_lanes(const float* src, float shift, float* dst, Lanes<float>& lanes) {
#pragma GCC unroll 4
  for (int v = 0; v < kLaneVectors<float>; ++v) {
    __m512 e = math_exp(load_floats(src + v * kVector<float>) - shift);
    store_floats(dst + v * kVector<float>, e);
    lanes.vectors[v] += reinterpret_cast<Vector<float>>(e);
  }
}

// Prefetches what follows src, likely the next row.
inline float avx512_exp_sum(const float* src, float shift, float* dst, int64_t n) {
  constexpr int64_t kCacheLine = 64 / sizeof(float);
  double total = 0;
  for (int64_t at = 0; at < n;) {
    int64_t end = least(at + kSumBlock, n);
    Lanes<float> lanes = {};
    for (; at + kLanes <= end; at += kLanes) {
      for (int64_t i = 0; i < kLanes; i += kCacheLine) __builtin_prefetch(src + n + at + i);
      exp_lanes(src + at, shift, dst + at, lanes);
    }
    for (int v = 0; at < end; ++v, at += kVector<float>) {
      __mmask16 first = __mmask16((1u << least(end - at, int64_t{kVector<float>})) - 1);
      __m512 e = math_exp(_mm512_mask_loadu_ps(every(shift), first, src + at) - shift);
      _mm512_mask_storeu_ps(dst + at, first, e);
      lanes.vectors[v] += reinterpret_cast<Vector<float>>(_mm512_maskz_mov_ps(first, e));
    }
    at = end;
    total += double(fold_sum(lanes));
  }
  return float(total);
}

template <typename T>
struct Avx512Vector;
template <>
struct Avx512Vector<float> {
  using V = __m512;
  static V load(const float* src) { return _mm512_loadu_ps(src); }
  static unsigned unordered(V a, V b) { return _mm512_cmp_ps_mask(a, b, _CMP_UNORD_Q); }
  template <bool Max>
  static V extreme(V a, V b) {
    return Max ? _mm512_maskz_max_ps(0xffff, a, b) : _mm512_maskz_min_ps(0xffff, a, b);
  }
};
template <>
struct Avx512Vector<double> {
  using V = __m512d;
  static V load(const double* src) { return _mm512_loadu_pd(src); }
  static unsigned unordered(V a, V b) { return _mm512_cmp_pd_mask(a, b, _CMP_UNORD_Q); }
  template <bool Max>
  static V extreme(V a, V b) {
    return Max ? _mm512_maskz_max_pd(0xff, a, b) : _mm512_maskz_min_pd(0xff, a, b);
  }
};

template <typename T, bool Max, int Width = kVector<T> / 2>
inline T fold_extreme(Vector<T> vector) {
  if constexpr (Width == 0) {
    return vector[0];
  } else {
    using V = typename Avx512Vector<T>::V;
    Vector<T> other = turned<T, Width>(vector, std::make_index_sequence<size_t(kVector<T>)>());
    V best = Avx512Vector<T>::template extreme<Max>(reinterpret_cast<V>(vector), reinterpret_cast<V>(other));
    return fold_extreme<T, Max, Width / 2>(reinterpret_cast<Vector<T>>(best));
  }
}

// Of n elements, a non-zero multiple of kLanes. NaNs are detected separately: the chain of extremes ignores them.
template <typename T, bool Max>
T avx512_extreme(const T* src, int64_t n) {
  using A = Avx512Vector<T>;
  constexpr int kStep = kVector<T>;
  typename A::V best[4];
  unsigned has_nan = 0;
#pragma GCC unroll 4
  for (int v = 0; v < 4; ++v) best[v] = A::load(src + v * kStep);
  for (int64_t i = 0; i < n; i += 4 * kStep) {
    typename A::V x[4];
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) {
      x[v] = A::load(src + i + v * kStep);
      best[v] = A::template extreme<Max>(best[v], x[v]);
    }
    has_nan |= A::unordered(x[0], x[1]) | A::unordered(x[2], x[3]);
  }
  if (has_nan != 0) return T(__builtin_nan(""));
  best[0] = A::template extreme<Max>(best[0], best[1]);
  best[2] = A::template extreme<Max>(best[2], best[3]);
  return fold_extreme<T, Max>(reinterpret_cast<Vector<T>>(A::template extreme<Max>(best[0], best[2])));
}
