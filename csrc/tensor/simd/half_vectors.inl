// Vectors of 16-bit floats in memory, as float32 in registers. With F16C for float16; the functions of
// convert_loops.inl give the same results, bit for bit.

#if MD_LEVEL_BYTES >= 64
using WideHalves = __m512;
using WideBits = __m512i;
constexpr int64_t kWideHalves = 16;

inline void store_wide(float* dst, WideHalves x) { _mm512_storeu_ps(dst, x); }
inline WideHalves load_wide(const float* src) { return _mm512_loadu_ps(src); }
inline WideHalves every_wide(float a) { return _mm512_set1_ps(a); }
inline WideHalves load_halves(const Half* src) {
  return _mm512_maskz_cvtph_ps(0xffff, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(src)));
}
inline WideHalves load_halves(const BFloat16* src) {
  __m512i words = _mm512_maskz_cvtepu16_epi32(0xffff, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(src)));
  return _mm512_castsi512_ps(_mm512_maskz_slli_epi32(0xffff, words, 16));
}
inline void store_halves(Half* dst, WideHalves x) {
  constexpr int kNearest = 8;
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(dst), _mm512_maskz_cvtps_ph(0xffff, x, kNearest));
}
inline void store_words(BFloat16* dst, WideBits words) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(dst), _mm512_maskz_cvtepi32_epi16(0xffff, words));
}
template <int mode>
inline WideHalves rounded_wide(WideHalves x) {
  return _mm512_maskz_roundscale_ps(0xffff, x, mode);
}
inline WideHalves float_sqrt(WideHalves x) { return _mm512_maskz_sqrt_ps(0xffff, x); }
// A vector of comparisons, each 0 or -1, as bools.
inline void store_truths(uint8_t* dst, WideBits truths) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(dst), _mm_maskz_set1_epi8(_mm512_movepi32_mask(truths), 1));
}
#elif MD_LEVEL_BYTES >= 32
using WideHalves = __m256;
using WideBits = __m256i;
constexpr int64_t kWideHalves = 8;

inline void store_wide(float* dst, WideHalves x) { _mm256_storeu_ps(dst, x); }
inline WideHalves load_wide(const float* src) { return _mm256_loadu_ps(src); }
inline WideHalves every_wide(float a) { return _mm256_set1_ps(a); }
inline WideHalves load_halves(const Half* src) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(src)));
}
inline WideHalves load_halves(const BFloat16* src) {
  __m256i words = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(src)));
  return _mm256_castsi256_ps(_mm256_slli_epi32(words, 16));
}
inline void store_halves(Half* dst, WideHalves x) {
  constexpr int kNearest = 0;
  _mm_storeu_si128(reinterpret_cast<__m128i*>(dst), _mm256_cvtps_ph(x, kNearest));
}
inline void store_words(BFloat16* dst, WideBits words) {
  __m128i packed = _mm_packus_epi32(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(dst), packed);
}
template <int mode>
inline WideHalves rounded_wide(WideHalves x) {
  return _mm256_round_ps(x, mode);
}
inline WideHalves float_sqrt(WideHalves x) { return _mm256_sqrt_ps(x); }
inline void store_truths(uint8_t* dst, WideBits truths) {
  unsigned long long bytes = _pdep_u64(unsigned(_mm256_movemask_ps(_mm256_castsi256_ps(truths))), 0x0101010101010101);
  __builtin_memcpy(dst, &bytes, sizeof bytes);
}
#endif

#if MD_LEVEL_BYTES >= 32
typedef uint32_t HalfWords __attribute__((vector_size(MD_LEVEL_BYTES)));
typedef int32_t HalfTruths __attribute__((vector_size(MD_LEVEL_BYTES)));

// What the expressions of pointwise.def apply to numbers.
inline WideHalves float_abs(WideHalves a) { return (WideHalves)((HalfWords)a & 0x7fffffffu); }
inline WideHalves float_floor(WideHalves a) { return rounded_wide<9>(a); }
inline WideHalves float_ceil(WideHalves a) { return rounded_wide<10>(a); }
inline WideHalves float_trunc(WideHalves a) { return rounded_wide<11>(a); }
inline WideHalves float_rint(WideHalves a) { return rounded_wide<8>(a); }
inline WideHalves float_copysign(WideHalves a, WideHalves b) {
  return (WideHalves)(((HalfWords)a & 0x7fffffffu) | ((HalfWords)b & 0x80000000u));
}
inline auto float_signbit(WideHalves a) { return ((HalfWords)a & 0x80000000u) != 0; }
inline WideHalves choose(HalfTruths chosen, WideHalves a, WideHalves b) { return chosen ? a : b; }
inline float infinity(WideHalves) { return __builtin_inff(); }

inline void store_halves(BFloat16* dst, WideHalves x) {
  HalfWords bits = (HalfWords)x;
  HalfWords nearest = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  HalfWords words = x != x ? (bits >> 16) | 0x40 : nearest;
  store_words(dst, (WideBits)words);
}

// The last elements, fewer than a vector, take a whole one in other memory.
template <typename H>
inline void widen_run(const H* src, float* dst, int64_t n) {
  int64_t i = 0;
  for (; i + kWideHalves <= n; i += kWideHalves) store_wide(dst + i, load_halves(src + i));
  if (i == n) return;
  H rest[kWideHalves] = {};
  float wide[kWideHalves];
  __builtin_memcpy(rest, src + i, size_t(n - i) * sizeof(H));
  store_wide(wide, load_halves(rest));
  __builtin_memcpy(dst + i, wide, size_t(n - i) * sizeof(float));
}
template <typename H>
inline void narrow_run(const float* src, H* dst, int64_t n) {
  int64_t i = 0;
  for (; i + kWideHalves <= n; i += kWideHalves) store_halves(dst + i, load_wide(src + i));
  if (i == n) return;
  float rest[kWideHalves] = {};
  H narrow[kWideHalves];
  __builtin_memcpy(rest, src + i, size_t(n - i) * sizeof(float));
  store_halves(narrow, load_wide(rest));
  __builtin_memcpy(dst + i, narrow, size_t(n - i) * sizeof(H));
}
#endif
