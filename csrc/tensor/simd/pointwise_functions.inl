// The functions used by the expressions of pointwise.def. Included once per instruction-set level, inside its
// own namespace, so nothing here may be shared by two levels: everything is in an unnamed namespace and no
// library template is instantiated.

struct Unsupported {};
constexpr Unsupported unsupported;

inline float float_abs(float a) { return __builtin_fabsf(a); }
inline double float_abs(double a) { return __builtin_fabs(a); }
inline float float_sqrt(float a) { return __builtin_sqrtf(a); }
inline double float_sqrt(double a) { return __builtin_sqrt(a); }
inline float float_floor(float a) { return __builtin_floorf(a); }
inline double float_floor(double a) { return __builtin_floor(a); }
inline float float_ceil(float a) { return __builtin_ceilf(a); }
inline double float_ceil(double a) { return __builtin_ceil(a); }
inline float float_trunc(float a) { return __builtin_truncf(a); }
inline double float_trunc(double a) { return __builtin_trunc(a); }
inline float float_rint(float a) { return __builtin_rintf(a); }
inline double float_rint(double a) { return __builtin_rint(a); }
inline float float_copysign(float a, float b) { return __builtin_copysignf(a, b); }
inline double float_copysign(double a, double b) { return __builtin_copysign(a, b); }
inline bool float_signbit(float a) { return __builtin_bit_cast(uint32_t, a) >> 31; }
inline bool float_signbit(double a) { return __builtin_bit_cast(uint64_t, a) >> 63; }
inline float infinity(float) { return __builtin_inff(); }
inline double infinity(double) { return __builtin_inf(); }

// Their vector forms come from libmvec through the declarations in vector_math.h.
#define MD_MATH(name)                                        \
  inline float math_##name(float a) { return ::name##f(a); } \
  inline double math_##name(double a) { return ::name(a); }
MD_MATH(exp2)
MD_MATH(expm1)
MD_MATH(log2)
MD_MATH(log10)
MD_MATH(log1p)
MD_MATH(sin)
MD_MATH(cos)
MD_MATH(tan)
MD_MATH(asin)
MD_MATH(acos)
MD_MATH(atan)
MD_MATH(cosh)
MD_MATH(erf)
MD_MATH(erfc)
MD_MATH(asinh)
#undef MD_MATH

template <int Bytes>
struct BitsOf;
template <>
struct BitsOf<1> {
  using type = uint8_t;
};
template <>
struct BitsOf<2> {
  using type = uint16_t;
};
template <>
struct BitsOf<4> {
  using type = uint32_t;
};
template <>
struct BitsOf<8> {
  using type = uint64_t;
};
// a if `chosen` is 1, b if it is 0, without a branch: GCC 12 vectorises no `?:` whose branches load, or that follows
// another one on the same number.
template <typename T>
inline T choose(uint8_t chosen, T a, T b) {
  using Bits = typename BitsOf<sizeof(T)>::type;
  Bits mask = Bits(0) - Bits(chosen);
  return __builtin_bit_cast(T,
                            Bits((__builtin_bit_cast(Bits, a) & mask) | (__builtin_bit_cast(Bits, b) & Bits(~mask))));
}

// Of a number on the real axis.
template <typename T>
inline T angle_of(T a) {
  return a != a ? a : a < T(0) ? T(3.14159265358979323846264338327950288) : T(0);
}

// Vector forms that take numbers outside of the domain one by one get `inside` instead. At the domain's end the result
// is `limit`. The exceptions, which programs may see, are those of 0 * inf, and of a / 0 for a pole.
template <typename T>
inline T outside_domain(uint8_t is_end, T limit) {
  return choose(is_end, limit, choose(is_end, T(1), T(0)) * infinity(limit));
}
#define MD_MATH_WITHIN(name, domain, inside, end, limit)                          \
  template <typename T>                                                           \
  inline T name##_within(T a) {                                                   \
    uint8_t holds = domain;                                                       \
    T result;                                                                     \
    if constexpr (sizeof(T) == sizeof(float)) {                                   \
      result = ::name##f(choose(holds, a, T(inside)));                            \
    } else {                                                                      \
      result = ::name(choose(holds, a, T(inside)));                               \
    }                                                                             \
    return choose(holds, result, outside_domain<T>(uint8_t(end) | holds, limit)); \
  }                                                                               \
  inline float math_##name(float a) { return name##_within(a); }                  \
  inline double math_##name(double a) { return name##_within(a); }
MD_MATH_WITHIN(acosh, a > T(1), 2, a == T(1), T(0))
MD_MATH_WITHIN(atanh, float_abs(a) < T(1), 0, float_abs(a) == T(1), a / choose(float_abs(a) == T(1), T(0), T(1)))
#undef MD_MATH_WITHIN
#define MD_MATH(name)                                        \
  inline float math_##name(float a) { return ::name##f(a); } \
  inline double math_##name(double a) { return name##_of(a); }
#include "tensor/simd/double_math.inl"
MD_MATH(exp)
MD_MATH(log)
MD_MATH(sinh)
MD_MATH(tanh)
#undef MD_MATH
// Functions of Floats, a vector type, used by loops instead.
#if MD_LEVEL_BYTES >= 64
#include "tensor/simd/avx512_math.inl"
#elif MD_LEVEL_BYTES >= 32
#include "tensor/simd/avx2_math.inl"
#endif
#if MD_LEVEL_BYTES >= 32
#include "tensor/simd/expm1_math.inl"
#include "tensor/simd/sine_math.inl"
// dst[i] = function(src[i]), on Floats; dst may be src.
template <typename Function>
inline __attribute__((always_inline)) void map_floats(const float* src, float* dst, int64_t n,
                                                      const Function& function) {
  constexpr int64_t kFloats = sizeof(Floats) / sizeof(float);
  int64_t i = 0;
  for (; i + kFloats <= n; i += kFloats) store_floats(dst + i, function(load_floats(src + i)));
  if (i < n) store_first(dst + i, n - i, function(load_first(src + i, n - i)));
}
#endif
// 0 * inf beside a NaN: vector forms raise no exception where there is no result.
template <typename T>
inline T seen_if_nan(T result) {
  uint8_t is_number = result == result;
  return choose(is_number, result, choose(is_number, T(1), T(0)) * infinity(result));
}
inline float math_pow(float a, float b) { return seen_if_nan(::powf(a, b)); }
inline double math_pow(double a, double b) { return seen_if_nan(::pow(a, b)); }
inline float math_atan2(float a, float b) { return ::atan2f(a, b); }
inline double math_atan2(double a, double b) { return ::atan2(a, b); }
inline float math_hypot(float a, float b) { return ::hypotf(a, b); }
inline double math_hypot(double a, double b) { return ::hypot(a, b); }

// NaN on either side wins.
template <typename T>
inline T max_of(T a, T b) {
  return (a > b) | (a != a) ? a : b;
}
template <typename T>
inline T min_of(T a, T b) {
  return (a < b) | (a != a) ? a : b;
}
// min_of(max_of(a, low), high).
template <typename T>
inline T limited(T a, T low, T high) {
  T raised = choose((a > low) | (a != a), a, low);
  return choose((raised < high) | (raised != raised), raised, high);
}
// limited() to numbers that are not NaN: a NaN fails both comparisons.
template <typename T>
inline T limited_to_six(T a) {
  T raised = T(0) > a ? T(0) : a;
  return T(6) < raised ? T(6) : raised;
}
template <typename T>
inline T hard_sigmoid(T a) {
  return limited_to_six(a + T(3)) / T(6);
}
template <typename T>
inline T hard_swish(T a) {
  return a * limited_to_six(a + T(3)) / T(6);
}
#if MD_LEVEL_BYTES >= 32
inline WideHalves hard_sigmoid(WideHalves a) { return limited(a + 3.0f, every_wide(0), every_wide(6)) / 6.0f; }
inline WideHalves hard_swish(WideHalves a) { return a * limited(a + 3.0f, every_wide(0), every_wide(6)) / 6.0f; }
#endif
template <typename T>
inline T without_specials(T a, T for_nan, T for_infinity, T for_minus_infinity) {
  return a != a ? for_nan : a == infinity(a) ? for_infinity : a == -infinity(a) ? for_minus_infinity : a;
}
// The difference of two equal infinities is 0.
template <typename T>
inline T log_add_exp(T a, T b) {
  T largest = max_of(a, b);
  T sum = largest + math_log1p(math_exp(-float_abs(a - b)));
  return choose((a == b) & (float_abs(a) == infinity(a)), largest, sum);
}

template <typename T>
inline T float_lerp(T a, T b, T weight) {
  return float_abs(weight) < T(0.5) ? a + weight * (b - a) : b - (b - a) * (T(1) - weight);
}

// A small quotient is exact, or one too large if the division rounded up to an integer; the remainder of a likewise.
inline float float_fmod(float a, float b) {
  double quotient = __builtin_trunc(double(a) / double(b));
  if (!(__builtin_fabs(quotient) < 0x1p28)) return ::fmodf(a, b);
  if (quotient == 0) return a;                     // b may be infinite
  double rest = double(a) - quotient * double(b);  // exact: 28 and 24 bits
  return __builtin_copysignf(float(rest), a);
}
inline double float_fmod(double a, double b) {
  double quotient = __builtin_trunc(a / b);
  if (!(__builtin_fabs(quotient) < 0x1p51)) return ::fmod(a, b);
  if (quotient == 0) return a;
  double rest = __builtin_fma(-quotient, b, a);
  if ((rest < 0) != (a < 0) && rest != 0) rest += __builtin_copysign(b, a);
  return __builtin_copysign(rest, a);
}

// Sign of the divisor, as Python's %.
template <typename T>
inline T float_remainder(T a, T b) {
  T rest = float_fmod(a, b);
  return rest != T(0) && (b < T(0)) != (rest < T(0)) ? rest + b : rest;
}
// The same with the sign of b where it is zero.
template <typename T>
inline T float_modulo(T a, T b) {
  T rest = float_remainder(a, b);
  return rest == T(0) ? float_copysign(rest, b) : rest;
}

template <typename T>
inline T float_div_floor(T a, T b) {
  if (b == T(0)) return a / b;
  T rest = float_fmod(a, b);
  T quotient = (a - rest) / b;
  if (rest != T(0) && (b < T(0)) != (rest < T(0))) quotient -= T(1);
  if (quotient == T(0)) return T(__builtin_copysign(0.0, double(a / b)));
  T rounded = float_floor(quotient);
  return quotient - rounded > T(0.5) ? rounded + T(1) : rounded;
}

// Integer arithmetic wraps around: done on unsigned words of at least 32 bits.
template <typename T>
struct WordOf {
  using type = uint32_t;
};
template <>
struct WordOf<int64_t> {
  using type = uint64_t;
};
template <>
struct WordOf<uint64_t> {
  using type = uint64_t;
};
template <typename T>
using Word = typename WordOf<T>::type;

template <typename T>
inline T wrap_add(T a, T b) {
  return T(Word<T>(a) + Word<T>(b));
}
template <typename T>
inline T wrap_sub(T a, T b) {
  return T(Word<T>(a) - Word<T>(b));
}
template <typename T>
inline T wrap_mul(T a, T b) {
  return T(Word<T>(a) * Word<T>(b));
}
template <typename T>
inline T wrap_neg(T a) {
  return T(Word<T>(0) - Word<T>(a));
}

// Divisors are not zero (check_divisor); if they are, this must not trap, nor for the smallest number divided by -1.
template <typename T>
inline bool divides_plainly(T b) {
  return b != T(0) && !(T(-1) < T(0) && b == T(-1));
}

// Rounded converts the double to an integer: __builtin_trunc or __builtin_floor. Exact: a non-integer quotient of
// numbers of up to 50 bits is further from an integer than double rounds.
template <typename T, typename Round>
inline T int_quotient(T a, T b, Round round) {
  T by = divides_plainly(b) ? b : T(1);
  T quotient;
  constexpr bool is_signed = T(-1) < T(0);
  if constexpr (sizeof(T) < sizeof(int64_t)) {
    using Whole = std::conditional_t<is_signed || sizeof(T) < sizeof(int32_t), int32_t, uint32_t>;
    quotient = T(Whole(round(double(a) / double(by))));
  } else {
    auto is_short = [](T value) {
      return uint64_t(value) + (is_signed ? uint64_t(1) << 49 : uint64_t(0)) < (uint64_t(1) << 50);
    };
    if (is_short(a) & is_short(by)) {
      quotient = T(int64_t(round(double(int64_t(a)) / double(int64_t(by)))));
    } else {
      quotient = T(a / by);
      if (round(-0.5) < 0 && a % by != T(0) && (a < T(0)) != (by < T(0))) quotient = T(quotient - 1);
    }
  }
  return b == T(0) ? T(0) : divides_plainly(b) ? quotient : wrap_neg(a);
}
struct RoundToZero {
  double operator()(double a) const { return __builtin_trunc(a); }
};
struct RoundDown {
  double operator()(double a) const { return __builtin_floor(a); }
};

template <typename T>
inline T int_div_trunc(T a, T b) {
  return int_quotient(a, b, RoundToZero{});
}
template <typename T>
inline T int_div_floor(T a, T b) {
  return int_quotient(a, b, RoundDown{});
}
// By zero: zero, whatever the quotient.
template <typename T>
inline T int_fmod(T a, T b) {
  return b == T(0) ? T(0) : wrap_sub(a, wrap_mul(int_div_trunc(a, b), b));
}
template <typename T>
inline T int_remainder(T a, T b) {
  return b == T(0) ? T(0) : wrap_sub(a, wrap_mul(int_div_floor(a, b), b));
}

// A negative power of an integer is zero, unless the base is 1 or -1.
template <typename T>
inline T int_pow(T a, T b) {
  if (b < T(0)) {
    if (a == T(1)) return T(1);
    if (a == T(-1)) return b % T(2) == T(0) ? T(1) : T(-1);
    return T(0);
  }
  T result = T(1);
  while (b != T(0)) {
    if (b & T(1)) result = wrap_mul(result, a);
    b = T(b / T(2));
    a = wrap_mul(a, a);
  }
  return result;
}

// No instruction shifts bytes by different counts: by 1, 2 and 4, where these bits of the count, below 8, are set.
template <typename T, typename Shift>
inline T shift_byte(T a, uint8_t count, Shift shift) {
  a = choose(count & 1, shift(a, 1), a);
  a = choose((count >> 1) & 1, shift(a, 2), a);
  return choose((count >> 2) & 1, shift(a, 4), a);
}

template <typename T>
inline T int_shift_left(T a, T b) {
  constexpr int bits = int(sizeof(T)) * 8;
  if constexpr (sizeof(T) == 1) {
    struct Left {
      T operator()(T x, int count) const { return T(uint8_t(x) << count); }
    };
    return choose(uint8_t(b) < bits, shift_byte(a, uint8_t(b), Left{}), T(0));
  }
  return b < T(0) || int64_t(b) >= bits ? T(0) : T(Word<T>(a) << Word<T>(b));
}
template <typename T>
inline T int_shift_right(T a, T b) {
  constexpr int bits = int(sizeof(T)) * 8;
  constexpr bool is_signed = T(-1) < T(0);
  if constexpr (sizeof(T) == 1) {
    struct Right {
      T operator()(T x, int count) const { return T(x >> count); }
    };
    T all = is_signed ? T(a >> (bits - 1)) : T(0);
    return choose(uint8_t(b) < bits, shift_byte(a, uint8_t(b), Right{}), all);
  }
  if constexpr (!is_signed) return b >= T(bits) ? T(0) : T(a >> b);
  int64_t count = b < T(0) || int64_t(b) >= bits ? bits - 1 : int64_t(b);
  return T(a >> count);
}
