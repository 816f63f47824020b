// exp, log, sinh and tanh of double, branch-free so that loops vectorise: within about one ulp. Included once per
// instruction-set level, like pointwise_functions.inl.

inline uint64_t bits_of(double a) { return __builtin_bit_cast(uint64_t, a); }
inline double double_of(uint64_t bits) { return __builtin_bit_cast(double, bits); }

// n is an integer in -1022 to 1023: the sum has n + 1023 in its lowest bits.
inline double power_of_two(double n) { return double_of(bits_of(n + (0x1.8p52 + 1023)) << 52); }

// ln 2 in two parts; n * kLn2High is exact for |n| < 2^20.
constexpr double kLn2High = 0x1.62e42fee00000p-1;
constexpr double kLn2Low = 0x1.a39ef35793c76p-33;

// exp(r) - 1 - r = r^2 (even + r odd) for |r| <= ln 2 / 2: the series up to r^13.
struct ExpSeries {
  double even, odd;
};
inline ExpSeries exp_series(double r2) {
  double even = 1.0 / 3628800 + r2 * (1.0 / 479001600);
  even = 1.0 / 40320 + r2 * even;
  even = 1.0 / 720 + r2 * even;
  even = 1.0 / 24 + r2 * even;
  even = 0.5 + r2 * even;
  double odd = 1.0 / 39916800 + r2 * (1.0 / 6227020800.0);
  odd = 1.0 / 362880 + r2 * odd;
  odd = 1.0 / 5040 + r2 * odd;
  odd = 1.0 / 120 + r2 * odd;
  odd = 1.0 / 6 + r2 * odd;
  return {even, odd};
}

// exp(r) - 1 - r
inline double exp_from_square(double r) {
  double r2 = r * r;
  ExpSeries series = exp_series(r2);
  return r2 * (series.even + r * series.odd);
}

// x = n ln 2 + r with |r| <= ln 2 / 2; minus_one = exp(r) - 1.
struct Reduced {
  double n, minus_one;
};
inline Reduced reduced_exp(double x) {
  double n = __builtin_rint(x * 0x1.71547652b82fep0);
  double r = x - n * kLn2High - n * kLn2Low;
  return {n, r + exp_from_square(r)};
}

// (1 + minus_one) * 2^n, where 2^n alone may be out of range.
inline double scaled(double minus_one, double n) {
  double half = __builtin_floor(n * 0.5);
  return (1 + minus_one) * power_of_two(half) * power_of_two(n - half);
}

// A NaN passes through the comparisons unchanged. A result of 0 is set, not computed: an underflow takes a hundred
// cycles.
inline double exp_of(double x) {
  bool is_zero = x < -746;
  x = x > 710 ? 710 : x;
  Reduced e = reduced_exp(is_zero ? 0 : x);
  return is_zero ? 0 : scaled(e.minus_one, e.n);
}

// exp(x) - 1 for 0 <= x <= 50.
inline double expm1_of(const Reduced& e) {
  double half = power_of_two(e.n - 1);
  return 2 * (half * e.minus_one + (half - 0.5));
}

inline double tanh_of(double x) {
  double a = float_abs(x);
  a = a > 22 ? 22 : a;
  double e = expm1_of(reduced_exp(2 * a));
  return __builtin_copysign(e / (e + 2), x);
}

// (exp(a) - exp(-a)) / 2, both from one series. Where exp(a) may overflow before halving, it is scaled by 2^-64 until
// the end, and exp(-a) is negligible.
inline double sinh_of(double x) {
  double a = float_abs(x);
  a = a > 711 ? 711 : a;
  double n = __builtin_rint(a * 0x1.71547652b82fep0);
  double r = a - n * kLn2High - n * kLn2Low;
  double r2 = r * r;
  ExpSeries series = exp_series(r2);
  double grown = r + r2 * (series.even + r * series.odd);
  double shrunk = r2 * (series.even - r * series.odd) - r;
  bool large = n > 1000;
  double up = power_of_two(large ? n - 64 : n);
  double down = power_of_two(large ? -1000 : -n);
  double difference = (up - down) + (up * grown - down * shrunk);
  return __builtin_copysign(difference * (large ? 0x1p63 : 0.5), x);
}

// x = m 2^k with m near 1: log m by the series of the area tangent in f / (2 + f), f = m - 1.
inline double log_of(double x) {
  bool tiny = x < 0x1p-1022;
  uint64_t bits = bits_of(tiny ? x * 0x1p54 : x);
  constexpr uint64_t kOne = 0x3ff0000000000000, kRootHalf = 0x3fe6a09e667f3bcd, kExponent = 0xfff0000000000000;
  uint64_t shifted = bits + (kOne - kRootHalf);
  double m = double_of(bits - ((shifted & kExponent) - kOne));
  double k = double_of((shifted >> 52) | 0x4330000000000000) - (0x1p52 + 1023) - (tiny ? 54 : 0);
  double f = m - 1;
  double s = f / (2 + f);
  double z = s * s;
  double w = z * z;
  double even = w * (0x1.999999997fa04p-2 + w * (0x1.c71c51d8e78afp-3 + w * 0x1.39a09d078c69fp-3));
  double odd =
      z * (0x1.5555555555593p-1 + w * (0x1.2492494229359p-2 + w * (0x1.7466496cb03dep-3 + w * 0x1.2f112df3e5244p-3)));
  double half_square = 0.5 * f * f;
  double result = s * (half_square + (even + odd)) + k * kLn2Low - half_square + f + k * kLn2High;
  result = x < __builtin_inf() ? result : x;
  // -inf by an overflow for zero, NaN by inf - inf below: programs may see the exceptions. Chosen by bits: GCC would
  // compute what `?:` does not choose as well, for all numbers.
  double large = choose(x < 0, __builtin_inf(), choose(x == 0, 0x1.fffffffffffffp1023, 0.0));
  double from = choose(x < 0, __builtin_inf(), 0.0);
  return choose(x <= 0, from - large * (2 + float_abs(x)), result);
}
