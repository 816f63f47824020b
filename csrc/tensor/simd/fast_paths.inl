// Fast paths of functions, without branches, valid where `holds` is set: loops over them vectorise, and the remaining
// elements use the function itself. An element's result depends only on its operands, never on its neighbours.

template <typename F, typename T>
struct FastPath {
  static constexpr bool exists = false;
};

// A binary path over whole vectors, used in place of the fast path.
template <typename F, typename T>
struct Avx512Path {
  static constexpr bool exists = false;
};
#if MD_LEVEL_BYTES >= 64
#include "tensor/simd/avx512_pow.inl"
#endif

inline float fast_fmod(float a, float b, bool& holds) {
  double quotient = __builtin_trunc(double(a) / double(b));
  holds = __builtin_fabs(quotient) < 0x1p28;
  double rest = double(a) - quotient * double(b);
  return __builtin_copysignf(float(quotient == 0 ? double(a) : rest), a);
}
inline double fast_fmod(double a, double b, bool& holds) {
  double quotient = __builtin_trunc(a / b);
  holds = __builtin_fabs(quotient) < 0x1p51;
  double rest = __builtin_fma(-quotient, b, a);
  rest = ((rest < 0) != (a < 0)) & (rest != 0) ? rest + __builtin_copysign(b, a) : rest;
  return __builtin_copysign(quotient == 0 ? a : rest, a);
}

template <typename T>
inline T fast_remainder(T a, T b, bool& holds) {
  T rest = fast_fmod(a, b, holds);
  return (rest != T(0)) & ((b < T(0)) != (rest < T(0))) ? rest + b : rest;
}

// b is not zero where the rest holds.
template <typename T>
inline T fast_div_floor(T a, T b, bool& holds) {
  T rest = fast_fmod(a, b, holds);
  T quotient = (a - rest) / b;
  quotient = (rest != T(0)) & ((b < T(0)) != (rest < T(0))) ? quotient - T(1) : quotient;
  T rounded = float_floor(quotient);
  rounded = quotient - rounded > T(0.5) ? rounded + T(1) : rounded;
  return quotient == T(0) ? T(__builtin_copysign(0.0, double(a / b))) : rounded;
}

inline double fast_exp(double x, bool& holds) {
  holds = __builtin_fabs(x) < 708;
  Reduced e = reduced_exp(x);
  return (1 + e.minus_one) * power_of_two(e.n);
}

// A positive normal x = m 2^k with m near 1.
struct Parts {
  double m, k;
};
inline Parts parts_of(double x) {
  uint64_t bits = bits_of(x);
  constexpr uint64_t kOne = 0x3ff0000000000000, kRootHalf = 0x3fe6a09e667f3bcd, kExponent = 0xfff0000000000000;
  uint64_t shifted = bits + (kOne - kRootHalf);
  return {double_of(bits - ((shifted & kExponent) - kOne)),
          double_of((shifted >> 52) | 0x4330000000000000) - (0x1p52 + 1023)};
}

// In double: log2 by its series in s = f / (2 + f) up to s^11, f = m - 1, then 2^e up to degree 7. The
// polynomials are split so that their halves are independent. The range of double covers every float result,
// including those that round to 0 or infinity.
inline float fast_pow(float base, float exponent, bool& holds) {
  constexpr uint32_t kOne = 0x3f800000, kRootHalf = 0x3f3504f3, kExponent = 0xff800000;
  uint32_t bits = __builtin_bit_cast(uint32_t, base);
  uint32_t shifted = bits + (kOne - kRootHalf);
  double k = double(float(int32_t(shifted >> 23) - 127));
  float narrow_m = __builtin_bit_cast(float, bits - ((shifted & kExponent) - kOne));
  double m = double(narrow_m);
  // Divides in float, then one Newton step: within 2^-45.
  double inverse = double(1.0f / (narrow_m + 1.0f));
  inverse = inverse * (2 - (m + 1) * inverse);
  double s = (m - 1) * inverse;
  double z = s * s;
  double z2 = z * z;
  constexpr double kTwice = 2 * 0x1.71547652b82fep0;  // 2 / ln 2
  double log2 =
      s * (((kTwice + kTwice / 3 * z) + z2 * (kTwice / 5 + kTwice / 7 * z)) + z2 * z2 * (kTwice / 9 + kTwice / 11 * z));
  double e = double(exponent) * (k + log2);
  holds = (base >= 0x1p-126f) & (base < __builtin_inff()) & (__builtin_fabs(e) < 1000);
  double n = __builtin_rint(e);
  double r = e - n;
  double r2 = r * r;
  constexpr double k1 = 0x1.62e42fefa39efp-1, k2 = k1 * k1 / 2, k3 = k2 * k1 / 3, k4 = k3 * k1 / 4, k5 = k4 * k1 / 5,
                   k6 = k5 * k1 / 6, k7 = k6 * k1 / 7;
  double p = ((1 + k1 * r) + r2 * (k2 + k3 * r)) + r2 * r2 * ((k4 + k5 * r) + r2 * (k6 + k7 * r));
  return float(p * power_of_two(n));
}

// The logarithm is a double-double throughout: its relative error is below 2^-63, since a power may multiply it by up
// to 1024. The result is within one ulp.
inline double fast_pow(double base, double exponent, bool& holds) {
  Parts x = parts_of(base);
  double f = x.m - 1;  // exact
  double d = x.m + 1, d_low = x.m - (d - 1);
  double inverse = 1 / d;
  double s = f * inverse;
  double s_low = __builtin_fma(-s, d_low, __builtin_fma(-s, d, f)) * inverse;
  double z = s * s;
  double z_low = __builtin_fma(s, s, -z) + 2 * s * s_low;
  // log m = s (2 + z 2/3 + z^2 (2/5 + z 2/7 + ...)).
  double z2 = z * z;
  double even = 2.0 / 17 + z2 * (2.0 / 21);
  even = 2.0 / 13 + z2 * even;
  even = 2.0 / 9 + z2 * even;
  even = 2.0 / 5 + z2 * even;
  double odd = 2.0 / 19 + z2 * (2.0 / 23);
  odd = 2.0 / 15 + z2 * odd;
  odd = 2.0 / 11 + z2 * odd;
  odd = 2.0 / 7 + z2 * odd;
  constexpr double kTwoThirds = 0x1.5555555555555p-1, kTwoThirdsLow = 0x1.5555555555555p-55;
  double t_first = z * kTwoThirds, t_rest = z2 * (even + z * odd);
  double t = t_first + t_rest;
  double t_low =
      __builtin_fma(z, kTwoThirds, -t_first) + z * kTwoThirdsLow + z_low * kTwoThirds + (t_rest - (t - t_first));
  double w = 2 + t;
  double w_low = (t - (w - 2)) + t_low;
  double p = s * w;
  double p_low = __builtin_fma(s, w, -p) + s * w_low + s_low * w;
  constexpr double kLog2E = 0x1.71547652b82fep0, kLog2ELow = 0x1.777d0ffda0d24p-56;
  double l = p * kLog2E;
  double l_low = __builtin_fma(p, kLog2E, -l) + p * kLog2ELow + p_low * kLog2E;
  double log2 = x.k + l;  // k is zero or larger than l
  double log2_low = (x.k == 0 ? 0 : l - (log2 - x.k)) + l_low;
  double e = exponent * log2;
  holds = (base >= 0x1p-1022) & (base < __builtin_inf()) & (__builtin_fabs(e) < 1020);
  double n = __builtin_rint(e);
  double rest = __builtin_fma(exponent, log2, -n);
  constexpr double kLn2 = 0x1.62e42fefa39efp-1, kLn2Rest = 0x1.abc9e3b39803fp-56;
  double r = rest * kLn2;
  double r_low = __builtin_fma(rest, kLn2, -r) + rest * kLn2Rest + exponent * log2_low * kLn2;
  double sum = 1 + r;
  double square = exp_from_square(r);
  double sum_low = (r - (sum - 1)) + (square + r_low * (sum + square));
  return (sum + sum_low) * power_of_two(n);
}

#define MD_FAST_PATH(function, type, path)                                                                   \
  template <>                                                                                                \
  struct FastPath<Function_##function, type> {                                                               \
    static constexpr bool exists = true;                                                                     \
    static inline type value([[maybe_unused]] type a, [[maybe_unused]] type b, bool& holds) { return path; } \
  };
MD_FAST_PATH(fmod, float, fast_fmod(a, b, holds))
MD_FAST_PATH(remainder, float, fast_remainder(a, b, holds))
MD_FAST_PATH(div_floor, float, fast_div_floor(a, b, holds))
MD_FAST_PATH(pow, float, fast_pow(a, b, holds))
MD_FAST_PATH(exp, double, fast_exp(a, holds))
// Only with an instruction for a * b + c.
#if MD_LEVEL_BYTES >= 32
MD_FAST_PATH(fmod, double, fast_fmod(a, b, holds))
MD_FAST_PATH(remainder, double, fast_remainder(a, b, holds))
MD_FAST_PATH(div_floor, double, fast_div_floor(a, b, holds))
MD_FAST_PATH(pow, double, fast_pow(a, b, holds))
#endif
#undef MD_FAST_PATH
