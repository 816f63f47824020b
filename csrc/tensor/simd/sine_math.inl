// sin and cos of Floats, within 1.73 and 1.81 ulp and never beyond [-1, 1]; large numbers
// one by one with the C library.

typedef int32_t FloatWords __attribute__((vector_size(sizeof(Floats))));

// |x| = h pi + r with |r| <= pi / 2; the products of h with the parts of pi are exact or nearly so. Up to this bound no
// number is close enough to a multiple of pi / 2 for the omitted digits of pi to matter.
constexpr float kMostReduced = 0x1p15f;
inline Floats minus_multiple_of_pi(Floats magnitude, Floats h) {
  constexpr float kPi[] = {0x1.921fb6p+1f, -0x1.777a5cp-24f, -0x1.ee59dap-49f};
  Floats r = fma(-h, every(kPi[0]), magnitude);
  r = fma(-h, every(kPi[1]), r);
  return fma(-h, every(kPi[2]), r);
}
// sin r = r + r^3 p(r^2), with its sign flipped by the lowest bit of `turns`.
inline Floats sine_of_reduced(Floats r, FloatWords turns, FloatWords sign) {
  constexpr float kSeries[] = {-0x1.55554cp-3f, 0x1.110edap-7f, -0x1.9f70f2p-13f, 0x1.5dc94p-19f};
  Floats square = r * r;
  Floats sine = clamp_to_one(fma(series(square, kSeries), square * r, r));
  return reinterpret_cast<Floats>(reinterpret_cast<FloatWords>(sine) ^ (turns << 31) ^ sign);
}
constexpr float kOneOverPi = 0x1.45f306p-2f, kRounds = 0x1.8p23f;  // adding the second one rounds

inline Floats sine_of_small(Floats x) {
  FloatWords sign = reinterpret_cast<FloatWords>(x) & INT32_MIN;
  Floats magnitude = reinterpret_cast<Floats>(reinterpret_cast<FloatWords>(x) ^ sign);
  Floats turns = fma(magnitude, every(kOneOverPi), every(kRounds));
  return sine_of_reduced(minus_multiple_of_pi(magnitude, turns - kRounds), reinterpret_cast<FloatWords>(turns), sign);
}
// cos(h pi + r) with h = n - 1/2 is sin r or -sin r.
inline Floats cosine_of_small(Floats x) {
  Floats magnitude = reinterpret_cast<Floats>(reinterpret_cast<FloatWords>(x) & INT32_MAX);
  Floats turns = fma(magnitude, every(kOneOverPi), every(0.5f)) + kRounds;
  Floats r = minus_multiple_of_pi(magnitude, turns - kRounds - 0.5f);
  return sine_of_reduced(r, reinterpret_cast<FloatWords>(turns), FloatWords{});
}

template <float function(float)>
inline __attribute__((noinline)) Floats also_of_large(Floats x, Floats of_small) {
  constexpr int kFloats = int(sizeof(Floats) / sizeof(float));
  for (int i = 0; i < kFloats; ++i) {
    float element = x[i];
    asm("" : "+x"(element));  // prevents vectorisation: the vector form of `function` has other results
    if (!(__builtin_fabsf(element) <= kMostReduced)) of_small[i] = function(element);
  }
  return of_small;
}

inline Floats math_sin(Floats x) {
  Floats result = sine_of_small(x);
  return __builtin_expect(any_beyond(x, kMostReduced), 0) ? also_of_large<::sinf>(x, result) : result;
}
inline Floats math_cos(Floats x) {
  Floats result = cosine_of_small(x);
  return __builtin_expect(any_beyond(x, kMostReduced), 0) ? also_of_large<::cosf>(x, result) : result;
}
