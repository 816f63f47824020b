// exp(x) - 1 of Floats, within 1.4 ulp. NaN, infinities, zeros and subnormal numbers as in the C library.

// x = n ln 2 + r, |r| <= ln 2 / 2, and e^r = 1 + r + r^2 q(r): 2 (2^(n - 1) (e^r - 1) + 2^(n - 1) - 1/2). Where the
// result is x, halving it might lose a digit.
inline Floats math_expm1(Floats x) {
  constexpr float kMost = 89, kLeast = -25, kItself = 0x1p-60f;
  constexpr float kPerLn2 = 0x1.715476p+0f, kHigh = 0x1.62e400p-1f, kLow = 0x1.7f7d1cp-20f, kWhole = 0x1.8p23f;
  constexpr float kSeries[] = {1.0f / 2, 1.0f / 6, 1.0f / 24, 1.0f / 120, 1.0f / 720, 1.0f / 5040, 1.0f / 40320};
  constexpr uint32_t kBias = 127, kFractionBits = 23;
  Floats a = x > kMost ? every(kMost) : x;
  a = a < kLeast ? every(kLeast) : a;
  Floats whole = fma(a, every(kPerLn2), every(kWhole));
  Floats n = whole - kWhole;
  Floats r = fma(n, every(-kHigh), a);
  r = fma(n, every(-kLow), r);
  Floats grown = fma(r * r, series(r, kSeries), r);
  Floats half = (Floats)(((HalfWords)whole + (kBias - 1)) << kFractionBits);
  Floats result = fma(half, grown, half - 0.5f) * 2.0f;
  return float_abs(x) < kItself ? x : result;
}
