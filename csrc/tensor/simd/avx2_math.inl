// Functions of 8 floats with AVX2: an element's result depends only on the element, not on its position. exp within
// 1.02 ulp, log 0.9, erf 1.72, tanh 1.34. NaN, infinities, zeros and subnormal numbers as in the C library. Vectors of
// ordinary numbers take a fast path with the same results.

using Floats = __m256;
using FloatBits = __m256i;

inline Floats load_floats(const float* src) { return _mm256_loadu_ps(src); }
inline void store_floats(float* dst, Floats x) { _mm256_storeu_ps(dst, x); }
inline FloatBits lanes_below(int64_t count) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(int(count)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
// Loads the first `count` lanes (fewer than all); the rest repeat the first, and raise no exception that it does not
// raise.
inline Floats load_first(const float* src, int64_t count) {
  FloatBits loaded = lanes_below(count);
  return _mm256_blendv_ps(_mm256_set1_ps(*src), _mm256_maskload_ps(src, loaded), _mm256_castsi256_ps(loaded));
}
inline void store_first(float* dst, int64_t count, Floats x) { _mm256_maskstore_ps(dst, lanes_below(count), x); }

inline Floats every(float a) { return _mm256_set1_ps(a); }
inline Floats fma(Floats a, Floats b, Floats c) { return _mm256_fmadd_ps(a, b, c); }
inline FloatBits bits_of(Floats x) { return _mm256_castps_si256(x); }
inline Floats floats_of(FloatBits bits) { return _mm256_castsi256_ps(bits); }
inline Floats sign_of(Floats x) { return _mm256_and_ps(every(-0.0f), x); }
inline Floats magnitude_of(Floats x) { return _mm256_andnot_ps(every(-0.0f), x); }
inline bool any_set(Floats mask) { return _mm256_movemask_ps(mask) != 0; }
inline bool all_positive(Floats x) { return !any_set(_mm256_cmp_ps(x, _mm256_setzero_ps(), _CMP_NGT_UQ)); }
// Clamps the magnitude to 1.
inline Floats clamp_to_one(Floats x) { return _mm256_max_ps(every(-1), _mm256_min_ps(every(1), x)); }
// Includes NaNs.
inline bool any_beyond(Floats x, float limit) {
  return any_set(_mm256_cmp_ps(magnitude_of(x), every(limit), _CMP_NLE_UQ));
}

// The sum of coefficients[i] x^i, by Horner's rule.
template <int Terms>
inline Floats series(Floats x, const float (&coefficients)[Terms]) {
  Floats sum = every(coefficients[Terms - 1]);
#pragma GCC unroll 16
  for (int i = Terms - 2; i >= 0; --i) sum = fma(sum, x, every(coefficients[i]));
  return sum;
}
// Eight terms, by pairs and pairs of pairs, which are independent (Estrin's scheme).
inline Floats paired_series(Floats x, const float (&c)[8]) {
  auto pair = [&](int i) { return fma(every(c[i + 1]), x, every(c[i])); };
  Floats square = x * x;
  return fma(fma(pair(6), square, pair(4)), square * square, fma(pair(2), square, pair(0)));
}

constexpr int kFractionBits = 23;
constexpr float kLog2E = 0x1.715476p+0f, kLn2FloatHigh = 0x1.62e400p-1f, kLn2FloatLow = 0x1.7f7d1cp-20f;
constexpr float kToWhole = 0x1.8p23f;  // adding it rounds: the lowest bits are the integer

// x = n ln 2 + r, |r| <= ln 2 / 2, e^r = 1 + r + r^2 q(r).
struct ReducedFloats {
  Floats minus_one;  // e^r - 1
  FloatBits whole;   // n in the lowest bits
};
inline Floats exp_less_one(Floats r) {
  constexpr float kSeries[] = {0x1.fffffcp-2f, 0x1.555490p-3f, 0x1.5558f8p-5f, 0x1.123b02p-7f, 0x1.6a2256p-10f};
  return fma(series(r, kSeries), r * r, r);
}
inline ReducedFloats reduced_exp(Floats x) {
  Floats whole = fma(x, every(kLog2E), every(kToWhole));
  Floats n = whole - kToWhole;
  Floats r = _mm256_fnmadd_ps(n, every(kLn2FloatHigh), x);
  r = _mm256_fnmadd_ps(n, every(kLn2FloatLow), r);
  return {exp_less_one(r), bits_of(whole)};
}
inline ReducedFloats reduced_exp2(Floats x) {
  constexpr float kLn2 = 0x1.62e430p-1f;
  Floats whole = x + kToWhole;
  return {exp_less_one((x - (whole - kToWhole)) * kLn2), bits_of(whole)};
}
// x 2^n, with n in the lowest bits: x is near 1, and the result is normal.
inline Floats scaled(Floats x, FloatBits n) {
  return floats_of(_mm256_add_epi32(bits_of(x), _mm256_slli_epi32(n, kFractionBits)));
}
inline Floats scaled_twice(ReducedFloats e) {
  FloatBits n = _mm256_sub_epi32(e.whole, bits_of(every(kToWhole))), half = _mm256_srai_epi32(n, 1);
  return (e.minus_one + 1) * scaled(every(1), half) * scaled(every(1), _mm256_sub_epi32(n, half));
}
// 0 where the result is not more: set, not computed, as an underflow takes a hundred cycles. Keeps NaN.
inline Floats where_not_below(Floats x, float zero, Floats value) {
  return _mm256_and_ps(value, _mm256_cmp_ps(x, every(zero), _CMP_NLT_UQ));
}
inline __attribute__((noinline)) Floats exp_of_any(Floats x) {
  constexpr float kInfinite = 89, kZero = -104;
  Floats kept = where_not_below(x, kZero, _mm256_min_ps(every(kInfinite), x));
  return where_not_below(x, kZero, scaled_twice(reduced_exp(kept)));
}
inline Floats math_exp(Floats x) {
  constexpr float kOrdinary = 87;
  if (__builtin_expect(any_beyond(x, kOrdinary), 0)) return exp_of_any(x);
  ReducedFloats e = reduced_exp(x);
  return scaled(e.minus_one + 1, e.whole);
}

inline __attribute__((noinline)) Floats exp2_of_any(Floats x) {
  constexpr float kInfinite = 129, kZero = -151;
  Floats kept = where_not_below(x, kZero, _mm256_min_ps(every(kInfinite), x));
  return where_not_below(x, kZero, scaled_twice(reduced_exp2(kept)));
}
inline Floats math_exp2(Floats x) {
  constexpr float kOrdinary = 125;
  if (__builtin_expect(any_beyond(x, kOrdinary), 0)) return exp2_of_any(x);
  ReducedFloats e = reduced_exp2(x);
  return scaled(e.minus_one + 1, e.whole);
}

// x = m 2^k with m around 1, f = m - 1: log x = k ln 2 + f - f^2 / 2 + f^3 p(f), for a normal x times 2^-shift.
inline __attribute__((always_inline)) Floats log_of_normal(Floats x, Floats shift) {
  constexpr float kSeries[] = {0x1.555554p-2f, -0x1.000226p-2f, 0x1.99a01cp-3f, -0x1.54728ap-3f,
                               0x1.22d932p-3f, -0x1.0d824ap-3f, 0x1.055e92p-3f, -0x1.38c8f4p-4f};
  constexpr int kRootHalf = 0x3f3504f3, kExponent = ~((1 << kFractionBits) - 1);
  FloatBits above = _mm256_sub_epi32(bits_of(x), _mm256_set1_epi32(kRootHalf));
  Floats f = floats_of(_mm256_sub_epi32(bits_of(x), _mm256_and_si256(above, _mm256_set1_epi32(kExponent)))) - 1;
  Floats k = _mm256_cvtepi32_ps(_mm256_srai_epi32(above, kFractionBits)) - shift;
  Floats square = f * f;
  Floats low = fma(square * f, paired_series(f, kSeries), k * kLn2FloatLow);
  low = _mm256_fnmadd_ps(square, every(0.5f), low);
  return fma(k, every(kLn2FloatHigh), f + low);
}
// The exceptions of a logarithm, which programs may see.
inline void raise_for_log(bool has_zero, bool has_negative) {
  _mm_setcsr(_mm_getcsr() | (has_zero ? _MM_EXCEPT_DIV_ZERO : 0) | (has_negative ? _MM_EXCEPT_INVALID : 0));
}
inline __attribute__((noinline)) Floats log_of_any(Floats x) {
  constexpr float kLeastNormal = 0x1p-126f, kScale = 0x1p23f, kShift = 23;
  Floats is_tiny = _mm256_cmp_ps(x, every(kLeastNormal), _CMP_LT_OQ);
  Floats result = log_of_normal(_mm256_blendv_ps(x, x * kScale, is_tiny), _mm256_and_ps(is_tiny, every(kShift)));
  result = _mm256_blendv_ps(x, result, _mm256_cmp_ps(x, every(__builtin_inff()), _CMP_LT_OQ));
  Floats is_zero = _mm256_cmp_ps(x, every(0), _CMP_EQ_OQ), is_negative = _mm256_cmp_ps(x, every(0), _CMP_LT_OQ);
  raise_for_log(_mm256_movemask_ps(is_zero) != 0, _mm256_movemask_ps(is_negative) != 0);
  result = _mm256_blendv_ps(result, every(-__builtin_inff()), is_zero);
  return _mm256_or_ps(result, is_negative);  // all bits set: a NaN
}
inline Floats math_log(Floats x) {
  Floats is_normal = _mm256_and_ps(_mm256_cmp_ps(x, every(0x1p-126f), _CMP_GE_OQ),
                                   _mm256_cmp_ps(x, every(__builtin_inff()), _CMP_LT_OQ));
  if (__builtin_expect(_mm256_movemask_ps(is_normal) != 0xff, 0)) return log_of_any(x);
  return log_of_normal(x, every(0));
}

// 1 - e^-y with y = -log(1 - erf |x|), which begins with 2 / sqrt(pi) |x|; from 3.92 on erf is 1.
inline Floats math_erf(Floats x) {
  constexpr float kIsOne = 3.95f, kFirst = 0x1.20dd76p+0f;
  constexpr float kSeries[] = {-0x1.f7ac92p-25f, 0x1.45f2fep-1f,   0x1.a4f95ep-4f,  -0x1.39c0dcp-6f, -0x1.5b02a6p-13f,
                               0x1.b63324p-10f,  -0x1.4cfa7ap-11f, 0x1.efd924p-14f, -0x1.388f08p-17f};
  Floats t = _mm256_min_ps(every(kIsOne), magnitude_of(x));  // keeps NaN
  ReducedFloats e = reduced_exp(_mm256_fnmsub_ps(t, every(kFirst), t * series(t, kSeries)));
  Floats power = scaled(every(1), e.whole);
  return _mm256_or_ps(_mm256_fnmadd_ps(power, e.minus_one, 1 - power), sign_of(x));
}

// Near zero |x| + |x|^3 p(x^2); elsewhere 1 - 2 / (e^2|x| + 1), which is 1 from 9.02 on.
// Interpolated at Chebyshev nodes.
inline Floats math_tanh(Floats x) {
  constexpr float kNear = 0.625f, kIsOne = 9.25f;
  constexpr float kSeries[] = {-0.33333329f, 0.1333277f, -0.05385091f, 0.02099718f, -0.00609671f};
  Floats magnitude = magnitude_of(x), square = x * x;
  Floats t = _mm256_min_ps(every(kIsOne), magnitude);
  ReducedFloats e = reduced_exp(t + t);
  Floats far = 1 - 2 / (scaled(e.minus_one + 1, e.whole) + 1);
  Floats near = fma(square * series(square, kSeries), magnitude, magnitude);
  Floats result = _mm256_blendv_ps(far, near, _mm256_cmp_ps(magnitude, every(kNear), _CMP_NGE_UQ));  // NaN: near
  return _mm256_or_ps(result, sign_of(x));
}
