// Functions of 16 floats with AVX-512: an element's result depends only on the element, not on its position. exp within
// 1.02 ulp, log 1.5, erf 1.0, tanh 0.7. NaN, infinities, zeros and subnormal numbers as in the C library. GCC 12 warns
// of uninitialised reads in unmasked intrinsics, so full masks are used.

using Floats = __m512;
constexpr __mmask16 kAllFloats = 0xffff;

inline Floats load_floats(const float* src) { return _mm512_loadu_ps(src); }
inline void store_floats(float* dst, Floats x) { _mm512_storeu_ps(dst, x); }
// Loads the first `count` lanes (fewer than all); the rest repeat the first, and raise no exception that it does not
// raise.
inline Floats load_first(const float* src, int64_t count) {
  return _mm512_mask_loadu_ps(_mm512_set1_ps(*src), __mmask16((1u << count) - 1), src);
}
inline void store_first(float* dst, int64_t count, Floats x) {
  _mm512_mask_storeu_ps(dst, __mmask16((1u << count) - 1), x);
}

inline Floats every(float a) { return _mm512_set1_ps(a); }
inline Floats fma(Floats a, Floats b, Floats c) { return _mm512_fmadd_ps(a, b, c); }

// By Horner's rule.
template <int Terms>
inline Floats series(Floats x, const float (&coefficients)[Terms]) {
  Floats sum = _mm512_set1_ps(coefficients[Terms - 1]);
#pragma GCC unroll 8
  for (int i = Terms - 2; i >= 0; --i) sum = fma(sum, x, _mm512_set1_ps(coefficients[i]));
  return sum;
}

// Table lookup by the lowest four bits of each index.
inline Floats looked_up(const float (&cells)[16], __m512i index) {
  return _mm512_maskz_permutexvar_ps(kAllFloats, index, _mm512_load_ps(cells));
}

inline Floats magnitude_up_to(Floats x, float limit) {
  return _mm512_maskz_min_ps(kAllFloats, _mm512_set1_ps(limit), _mm512_abs_ps(x));  // keeps NaN
}
// Includes NaNs.
inline bool any_beyond(Floats x, float limit) {
  return _mm512_cmp_ps_mask(_mm512_abs_ps(x), every(limit), _CMP_NLE_UQ) != 0;
}
inline bool all_positive(Floats x) { return _mm512_cmp_ps_mask(x, _mm512_setzero_ps(), _CMP_GT_OQ) == kAllFloats; }
// Clamps the magnitude to 1. NaN becomes 1.
inline Floats clamp_to_one(Floats x) {
  constexpr int kLeastMagnitude = 2;
  return _mm512_maskz_range_ps(kAllFloats, x, every(1), kLeastMagnitude);
}
inline Floats with_sign_of(Floats magnitude, Floats x) {
  return _mm512_or_ps(magnitude, _mm512_and_ps(_mm512_set1_ps(-0.0f), x));
}

// Whether a result is more than 0; of NaN, too. What is not is set, not computed: an underflow takes a hundred cycles.
inline __mmask16 not_below(Floats x, float zero) { return _mm512_cmp_ps_mask(x, every(zero), _CMP_NLT_UQ); }
// x = n ln 2 + r, |r| <= ln 2 / 2, and e^r = 1 + r + r^2 q(r); 0 in other lanes than these.
inline Floats scaled_exp(Floats r, Floats n, __mmask16 lanes) {
  constexpr float kSeries[] = {0x1.fffffcp-2f, 0x1.555490p-3f, 0x1.5558f8p-5f, 0x1.123b02p-7f, 0x1.6a2256p-10f};
  return _mm512_maskz_scalef_ps(lanes, fma(series(r, kSeries), r * r, r) + 1, n);
}
inline Floats math_exp(Floats x) {
  constexpr float kRange = 120, kZero = -104, kLog2E = 0x1.715476p+0f, kLn2High = 0x1.62e400p-1f,
                  kLn2Low = 0x1.7f7d1cp-20f;
  constexpr int kNearest = 8;
  __mmask16 lanes = not_below(x, kZero);
  x = _mm512_maskz_min_ps(lanes, _mm512_set1_ps(kRange), x);
  Floats n = _mm512_maskz_roundscale_ps(kAllFloats, x * kLog2E, kNearest);
  Floats r = _mm512_fnmadd_ps(n, _mm512_set1_ps(kLn2High), x);
  r = _mm512_fnmadd_ps(n, _mm512_set1_ps(kLn2Low), r);
  return scaled_exp(r, n, lanes);
}
inline Floats math_exp2(Floats x) {
  constexpr float kRange = 160, kZero = -151, kLn2 = 0x1.62e430p-1f;
  constexpr int kNearest = 8;
  __mmask16 lanes = not_below(x, kZero);
  x = _mm512_maskz_min_ps(lanes, _mm512_set1_ps(kRange), x);
  Floats n = _mm512_maskz_roundscale_ps(kAllFloats, x, kNearest);
  return scaled_exp((x - n) * kLn2, n, lanes);
}

// About 1 / m for sixteen cells of [0.75, 1.5), chosen such that its logarithm is nearly a float, and 1 around one; and
// minus that logarithm. Cells are numbered by the first bits of m's fraction, so those below one come last.
alignas(64) constexpr float kLogCells[][16] = {
    {0x1p0f, 0x1.d49482p-1f, 0x1.bb1302p-1f, 0x1.a3bd82p-1f, 0x1.8ff0f8p-1f, 0x1.7c93b4p-1f, 0x1.6c7c22p-1f,
     0x1.5c0612p-1f, 0x1.4f0e1ap0f, 0x1.4089f2p0f, 0x1.3574p0f, 0x1.2a4e92p0f, 0x1.1ee658p0f, 0x1.152ee6p0f,
     0x1.0c33b4p0f, 0x1p0f},
    {0, 0x1.6afa3cp-4f, 0x1.281d5ep-3f, 0x1.96ea02p-3f, 0x1.f9debep-3f, 0x1.2fc166p-2f, 0x1.5bfee4p-2f, 0x1.8b51bep-2f,
     -0x1.13938ap-2f, -0x1.cc7198p-3f, -0x1.845c4ep-3f, -0x1.393b74p-3f, -0x1.d2c304p-4f, -0x1.45a30ep-4f,
     -0x1.7d7162p-5f, 0},
};

// The exceptions of a logarithm, which programs may see.
inline __attribute__((noinline)) void raise_for_log(Floats x) {
  bool has_zero = _mm512_cmp_ps_mask(x, _mm512_setzero_ps(), _CMP_EQ_OQ) != 0;
  bool has_negative = _mm512_cmp_ps_mask(x, _mm512_setzero_ps(), _CMP_LT_OQ) != 0;
  _mm_setcsr(_mm_getcsr() | (has_zero ? _MM_EXCEPT_DIV_ZERO : 0) | (has_negative ? _MM_EXCEPT_INVALID : 0));
}

// x = m 2^k with m in [0.75, 1.5): log x = k ln 2 + cell + log(1 + r), and log(1 + r) = r + r^2 q(r). The low part of
// ln 2 is positive, so for zero only -inf is added.
inline Floats math_log(Floats x) {
  constexpr float kLn2High = 0x1.62e400p-1f, kLn2Low = 0x1.7f7d1cp-20f;
  constexpr float kSeries[] = {-0.5f, 0x1.555558p-2f, -0x1.00033cp-2f, 0x1.99b65cp-3f, -0x1.3fc076p-3f};
  constexpr int kFirstFractionBits = 19;
  if (__builtin_expect(_mm512_cmp_ps_mask(x, _mm512_setzero_ps(), _CMP_LE_OQ) != 0, 0)) raise_for_log(x);
  Floats m = _mm512_maskz_getmant_ps(kAllFloats, x, _MM_MANT_NORM_p75_1p5, _MM_MANT_SIGN_nan);
  Floats k = _mm512_maskz_getexp_ps(kAllFloats, x) - _mm512_maskz_getexp_ps(kAllFloats, m);
  __m512i cell = _mm512_maskz_srli_epi32(kAllFloats, _mm512_castps_si512(m), kFirstFractionBits);
  Floats r = _mm512_fmsub_ps(m, looked_up(kLogCells[0], cell), _mm512_set1_ps(1));
  Floats low = fma(k, _mm512_set1_ps(kLn2Low), r * r * series(r, kSeries));
  return fma(k, _mm512_set1_ps(kLn2High), looked_up(kLogCells[1], cell)) + (r + low);
}

// An odd function by cells of |x|: column c + t (c1 + u (c2 + u (c3 ...))) of rows centre, c, c1 ..., where t is the
// distance from the centre and u is t. Centres are chosen such that the function is nearly a float there. Around zero c
// is |x| and u is x^2, so that small results keep full precision.
template <int Rows>
inline Floats table_exp(const float (&rows)[Rows][16], Floats magnitude, __m512i cell, float first_end) {
  __mmask16 is_first = _mm512_cmp_ps_mask(magnitude, _mm512_set1_ps(first_end), _CMP_LT_OQ);
  Floats t = magnitude - looked_up(rows[0], cell);
  Floats u = _mm512_mask_mul_ps(t, is_first, magnitude, magnitude);
  Floats sum = looked_up(rows[Rows - 1], cell);
#pragma GCC unroll 8
  for (int i = Rows - 2; i >= 2; --i) sum = fma(sum, u, looked_up(rows[i], cell));
  return fma(sum, t, _mm512_mask_mov_ps(looked_up(rows[1], cell), is_first, magnitude));
}

// Cells of width 1/4; from 3.92 on erf is 1.
alignas(64) constexpr float kErfCells[][16] = {
    {0, 0x1.81232p-2f, 0x1.400fcp-1f, 0x1.bf178p-1f, 0x1.20244p0f, 0x1.60092p0f, 0x1.9f21cp0f, 0x1.df3dcp0f,
     0x1.1166p1f, 0x1.30d2ap1f, 0x1.50b4ap1f, 0x1.71448p1f, 0x1.8f4f4p1f, 0x1.b0464p1f, 0x1.cfd5ap1f, 0x1.ebf9a4p1f},
    {0, 0x1.9eee1cp-2f, 0x1.3f2574p-1f, 0x1.90f818p-1f, 0x1.c6f1e2p-1f, 0x1.e579a8p-1f, 0x1.f4d29cp-1f, 0x1.fbd904p-1f,
     0x1.feb566p-1f, 0x1.ff9cb4p-1f, 0x1.ffe5e6p-1f, 0x1.fffa18p-1f, 0x1.fffea8p-1f, 0x1.ffffc4p-1f, 0x1.fffff6p-1f,
     0x1.fffffep-1f},
    {0x1.06eba8p-3f, 0x1.f585acp-1f, 0x1.86da62p-1f, 0x1.0d8102p-1f, 0x1.4581dp-2f, 0x1.5cc364p-3f, 0x1.4d4378p-4f,
     0x1.15e064p-5f, 0x1.81fdap-7f, 0x1.fd535p-9f, 0x1.245134p-10f, 0x1.1f74c8p-12f, 0x1.18ebbap-14f, 0x1.a5bb76p-17f,
     0x1.2c410ep-19f, 0x1.296ae8p-21f},
    {-0x1.812726p-2f, -0x1.794012p-2f, -0x1.e8a7e8p-2f, -0x1.d6accp-2f, -0x1.6e608ap-2f, -0x1.df9a4cp-3f,
     -0x1.0e36fp-3f, -0x1.041968p-4f, -0x1.9c387cp-6f, -0x1.2f384ap-7f, -0x1.8070eep-9f, -0x1.9e94f8p-11f,
     -0x1.b614a8p-13f, -0x1.63eee2p-15f, -0x1.0fcb1ep-17f, 0x1.94f6c4p-19f},
    {0x1.ce06bcp-4f, -0x1.df8df2p-3f, -0x1.c77442p-5f, 0x1.794de2p-4f, 0x1.4cd336p-3f, 0x1.436c2cp-3f, 0x1.d92308p-4f,
     0x1.164bd6p-4f, 0x1.05512ep-5f, 0x1.b6e9aap-7f, 0x1.38ad6p-8f, 0x1.767cd6p-10f, 0x1.b0652cp-12f, 0x1.7f05dap-14f,
     0x1.3b0548p-16f, -0x1.52de48p-15f},
    {-0x1.a8254ap-6f, 0x1.537976p-3f, 0x1.678812p-3f, 0x1.cdedd4p-4f, 0x1.ccfa36p-6f, -0x1.ec3a22p-6f, -0x1.9468dep-5f,
     -0x1.5ad46cp-5f, -0x1.a567d2p-6f, -0x1.a7c32p-7f, -0x1.5e63bp-8f, -0x1.dd6dp-10f, -0x1.31d5a2p-11f,
     -0x1.2c818cp-13f, -0x1.0f7ce2p-15f, -0x1.053c3ep-11f},
    {-0x1.559904p-9f, 0x1.7b6aaep-5f, -0x1.b44a3cp-6f, -0x1.101e8ep-4f, -0x1.f41b3cp-5f, -0x1.f622a2p-6f,
     -0x1.2edb6ep-9f, 0x1.72a15p-7f, 0x1.9791b2p-7f, 0x1.11f714p-7f, 0x1.15c2c8p-8f, 0x1.c551c6p-10f, 0x1.32be04p-11f,
     0x1.5dedd8p-13f, 0x1.693caep-15f, 0x1.0a31eep-8f},
};

inline Floats math_erf(Floats x) {
  constexpr float kIsOne = 3.95f, kPerUnit = 4;
  Floats magnitude = magnitude_up_to(x, kIsOne);
  __m512i cell = _mm512_maskz_cvttps_epi32(kAllFloats, magnitude * kPerUnit);
  return with_sign_of(table_exp(kErfCells, magnitude, cell, 1 / kPerUnit), x);
}

// The first cell ends at 0.5, then four per power of two, up to [5, 6) and [6, 9.1); from there on tanh is 1.
alignas(64) constexpr float kTanhCells[][16] = {
    {0, 0x1.208bap-1f, 0x1.5fb8ep-1f, 0x1.a0e78p-1f, 0x1.dfcaap-1f, 0x1.1fd5ap0f, 0x1.60c96p0f, 0x1.9faeep0f,
     0x1.dfe98p0f, 0x1.1f2c6p1f, 0x1.5f52cp1f, 0x1.a0bf2p1f, 0x1.e03d4p1f, 0x1.1f8eep2f, 0x1.60e46p2f, 0x1.e76066p2f},
    {0, 0x1.056fb6p-1f, 0x1.312a08p-1f, 0x1.58082p-1f, 0x1.77bf9ap-1f, 0x1.9e3f74p-1f, 0x1.c2d362p-1f, 0x1.d9afa2p-1f,
     0x1.e87494p-1f, 0x1.f49adp-1f, 0x1.fbc9bep-1f, 0x1.fe7b08p-1f, 0x1.ff6fa2p-1f, 0x1.ffdf34p-1f, 0x1.fffbbep-1f,
     0x1.fffffp-1f},
    {0, 0x1.7a8184p-1f, 0x1.4a1d6ap-1f, 0x1.18d514p-1f, 0x1.d87d1ap-2f, 0x1.61aeb6p-2f, 0x1.cc285ap-3f, 0x1.270b06p-3f,
     0x1.700d5ap-4f, 0x1.68972ep-5f, 0x1.0c74aap-6f, 0x1.846446p-8f, 0x1.209348p-9f, 0x1.06591p-11f, 0x1.108026p-14f,
     0x1.081d2ep-20f},
    {-0x1.555552p-2f, -0x1.828b34p-2f, -0x1.89833ap-2f, -0x1.79674p-2f, -0x1.5ac07p-2f, -0x1.1e281ap-2f, -0x1.952d7p-3f,
     -0x1.10f6e4p-3f, -0x1.5f2088p-4f, -0x1.6090a8p-5f, -0x1.0a3f48p-6f, -0x1.833d4p-8f, -0x1.204258p-9f,
     -0x1.06472p-11f, -0x1.107f0ap-14f, -0x1.0f70fp-20f},
    {0x1.110f6p-3f, -0x1.b7ec92p-5f, 0x1.cdef2ap-7f, 0x1.099684p-4f, 0x1.840176p-4f, 0x1.c680ap-4f, 0x1.96c338p-4f,
     0x1.346146p-4f, 0x1.a89952p-5f, 0x1.c10c58p-6f, 0x1.5d21bcp-7f, 0x1.009ceap-8f, 0x1.7f7d56p-10f, 0x1.5d299p-12f,
     0x1.6aeecp-15f, 0x1.36e0bcp-21f},
    {-0x1.b99506p-5f, 0x1.39b7cep-3f, 0x1.ea10fp-4f, 0x1.450e38p-4f, 0x1.632808p-5f, 0x1.b9e898p-9f, -0x1.603812p-6f,
     -0x1.9d519p-6f, -0x1.55f74cp-6f, -0x1.9807fap-7f, -0x1.518fp-8f, -0x1.fb12b8p-10f, -0x1.7d80aep-11f,
     -0x1.5d0b96p-13f, -0x1.6a8a52p-16f, -0x1.240e0ep-22f},
    {0x1.5d4a9p-6f, -0x1.364a3p-5f, -0x1.c617b8p-5f, -0x1.172d78p-4f, -0x1.d7857ap-5f, -0x1.05808ep-5f, -0x1.301156p-7f,
     0x1.6f9fe8p-10f, 0x1.2b986ap-8f, 0x1.067d3ep-8f, 0x1.fa7e9cp-10f, 0x1.8f6e34p-11f, 0x1.30ebacp-12f,
     0x1.226af6p-14f, 0x1.2e77p-17f, 0x1.985846p-23f},
    {-0x1.b5c17p-8f, -0x1.72fe22p-6f, -0x1.f40a7p-8f, -0x1.335518p-7f, 0x1.48441p-6f, 0x1.2e82cap-6f, 0x1.69428ap-7f,
     0x1.0f3caap-8f, 0x1.53fe72p-11f, -0x1.772d9cp-11f, -0x1.1e82ep-11f, -0x1.fec8fp-13f, -0x1.a862dcp-14f,
     -0x1.7bc0d8p-16f, -0x1.9cfc3cp-19f, -0x1.2026c2p-24f},
};

inline Floats math_tanh(Floats x) {
  constexpr float kIsOne = 9.1f, kFirstEnd = 0.5f;
  constexpr int kTwoFractionBits = 21, kBefore = (__builtin_bit_cast(int, kFirstEnd) >> kTwoFractionBits) - 1;
  Floats magnitude = magnitude_up_to(x, kIsOne);
  __m512i cell = _mm512_maskz_srli_epi32(kAllFloats, _mm512_castps_si512(magnitude), kTwoFractionBits);
  cell = _mm512_maskz_sub_epi32(kAllFloats, cell, _mm512_set1_epi32(kBefore));
  cell = _mm512_maskz_max_epi32(kAllFloats, cell, _mm512_setzero_si512());
  cell = _mm512_maskz_min_epi32(kAllFloats, cell, _mm512_set1_epi32(15));
  return with_sign_of(table_exp(kTanhCells, magnitude, cell, kFirstEnd), x);
}
