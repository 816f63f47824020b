// Special functions of double, branch-free so that loops vectorise.

#include "tensor/simd/special_numbers.inl"

constexpr double kPi = 3.14159265358979323846, kRootOfHalf = 0.70710678118654752440, kLogPi = 1.14472988584940017414;

// The sum of factors[k] x^k.
template <typename T, int N>
inline T powers(T x, const T (&factors)[N]) {
  T total = factors[N - 1];
#pragma GCC unroll 32
  for (int k = N - 2; k >= 0; --k) total = total * x + factors[k];
  return total;
}
// The same with the highest power first.
template <int N>
inline double falling_powers(double x, const double (&factors)[N]) {
  double total = factors[0];
#pragma GCC unroll 32
  for (int k = 1; k < N; ++k) total = total * x + factors[k];
  return total;
}
// The sum of a series of Chebyshev's polynomials of x / 2, highest degree first, with half of the last factor.
template <int N>
inline double chebyshev(double x, const double (&factors)[N]) {
  double before = 0, last = 0, total = factors[0];
#pragma GCC unroll 32
  for (int k = 1; k < N; ++k) {
    before = last;
    last = total;
    total = x * last - before + factors[k];
  }
  return 0.5 * (total - before);
}

inline double sine_of_pi(double x) { return float_abs(math_sin(kPi * (x - float_rint(x)))); }

// Of x > 0: by the series about 2 below 8.5, after steps of 1 towards [1.5, 2.5); by Stirling's above.
template <int Near, int Far>
inline double positive_lgamma(double x, const double (&near_two)[Near], const double (&stirling)[Far]) {
  double at = x, product = 1;
#pragma GCC unroll 7
  for (int step = 0; step < 7; ++step) {
    uint8_t is_far = (at >= 2.5) & (x < 8.5);
    at = at - choose(is_far, 1.0, 0.0);
    product = product * choose(is_far, at, 1.0);
  }
  uint8_t is_near = x < 8.5, is_below = at < 1.5, is_small = at < 0.5;
  double z = choose(is_small, at, at - choose(is_below, 1.0, 2.0));
  // Below 1.5 nothing was multiplied, and one or two steps upwards are divided by.
  double factor = choose(is_below, at * choose(is_small, 1 + at, 1.0), product);
  double logarithm = math_log(choose(is_near, factor, x));
  double near = z * powers(z, near_two) + choose(is_below, -logarithm, logarithm);
  double inverse = 1 / x;
  constexpr double kRest = 0.91893853320467274178 - 0.5;
  double beyond = (x - 0.5) * (logarithm - 1) + kRest + inverse * powers(inverse * inverse, stirling);
  return choose(is_near, near, beyond);
}

// Of numbers that are not negative, and of NaN.
template <int Near, int Far>
inline double upper_lgamma(double x, const double (&near_two)[Near], const double (&stirling)[Far]) {
  double found = positive_lgamma(choose(x == 0, 1.0, x), near_two, stirling);
  return choose(uint8_t(x == 0) | uint8_t(x == infinity(x)), infinity(x), found);
}

template <int Near, int Far>
inline double any_lgamma(double x, const double (&near_two)[Near], const double (&stirling)[Far]) {
  double size = float_abs(x), whole = float_floor(x);
  double found = positive_lgamma(choose(size == 0, 1.0, size), near_two, stirling);
  // |gamma(-x)| |gamma(x)| = pi / |x sin(pi x)|.
  uint8_t is_below = x < 0;
  double reflected = kLogPi - math_log(choose(is_below, size * sine_of_pi(x), 1.0)) - found;
  found = choose(is_below, reflected, found);
  uint8_t is_pole = (size == infinity(x)) | ((x <= 0) & (x == whole));
  return choose(is_pole, infinity(x), found);
}

inline double special_lgamma(double x) { return any_lgamma(x, kNearTwo, kStirling); }

inline double special_digamma(double x) {
  uint8_t is_below = x < 0;
  double at = choose(is_below, 1 - x, x), found = 0;
#pragma GCC unroll 10
  for (int step = 0; step < 10; ++step) {
    uint8_t is_short = at < 10;
    found = found - choose(is_short, 1 / at, 0.0);
    at = at + choose(is_short, 1.0, 0.0);
  }
  double inverse = 1 / (at * at);
  found = found + math_log(at) - 0.5 / at - inverse * powers(inverse, kDigamma);
  double part = choose(is_below, x - float_rint(x), 0.25);
  found = found - choose(is_below, kPi / math_tan(kPi * part), 0.0);
  found = choose(is_below & uint8_t(x == float_trunc(x)), __builtin_nan(""), found);
  return choose(x == 0, float_copysign(infinity(x), -x), found);
}

inline double special_trigamma(double x) {
  uint8_t is_below = x < 0.5;
  double at = choose(is_below, 1 - x, x), total = 0;
#pragma GCC unroll 16
  for (int step = 0; step < 16; ++step) {
    total += 1 / (at * at);
    at += 1;
  }
  double inverse = 1 / (at * at);
  total = total + (1 + 0.5 / at + inverse * powers(inverse, kTrigamma)) / at;
  double sine = kPi / sine_of_pi(x);
  return choose(is_below, sine * sine - total, total);
}

inline double special_tetragamma(double x) {
  uint8_t is_below = x < 0.5;
  double at = choose(is_below, 1 - x, x), total = 0;
#pragma GCC unroll 16
  for (int step = 0; step < 16; ++step) {
    total -= 2 / (at * at * at);
    at += 1;
  }
  double inverse = 1 / (at * at);
  constexpr double kSeries[] = {-1.0 / 2, 1.0 / 6, -1.0 / 6, 3.0 / 10, -5.0 / 6};
  total = total + inverse * (-1 - 1 / at + inverse * powers(inverse, kSeries));
  double part = kPi * (x - float_rint(x)), sine = math_sin(part);
  double turned = 2 * kPi * kPi * kPi * math_cos(part) / (sine * sine * sine);
  return choose(is_below, total - turned, total);
}

// exp(-size) times I0(size), or I1(size) / size below 8.
template <int N>
inline double bessel_near(double size, const double (&near)[N]) {
  return chebyshev(choose(size < 8, size, 8.0) / 2 - 2, near);
}
template <int M>
inline double bessel_far(double size, const double (&far)[M]) {
  double large = choose(size > 8, size, 8.0);
  return chebyshev(32 / large - 2, far) / float_sqrt(large);
}
// scaled * exp(size), in two steps: exp(size) alone may overflow.
inline double unscaled(double scaled, double size) {
  double half = math_exp(size * 0.5);
  return scaled * half * half;
}

inline double special_i0e(double x) {
  double size = float_abs(x);
  double found = choose(size <= 8, bessel_near(size, kI0A), bessel_far(size, kI0B));
  return choose(x != x, x, found);
}
inline double special_i0(double x) { return unscaled(special_i0e(x), float_abs(x)); }
// I1(x) / x, scaled by exp(-|x|).
inline double special_i1e_ratio(double x) {
  double size = float_abs(x);
  double found = choose(size <= 8, bessel_near(size, kI1A), bessel_far(size, kI1B) / choose(size > 8, size, 8.0));
  return choose(x != x, x, found);
}
inline double special_i1e(double x) {
  double size = float_abs(x);
  double found = choose(size <= 8, bessel_near(size, kI1A) * x, float_copysign(bessel_far(size, kI1B), x));
  return choose(x != x, x, found);
}
inline double special_i1_ratio(double x) { return unscaled(special_i1e_ratio(x), float_abs(x)); }
inline double special_i1(double x) { return unscaled(special_i1e(x), float_abs(x)); }

// exp(x^2) erfc(x): beyond 25, where erfc is near its smallest number, by the asymptotic series.
inline double special_erfcx(double x) {
  double inverse = 0.5 / (x * x);
  constexpr double kSeries[] = {-945, 105, -15, 3, -1, 1};
  double series = falling_powers(inverse, kSeries) / (x * 1.77245385090551602730);
  // The square in two parts: rounding it once would be magnified by exp.
  double whole = float_rint(x * 4096) / 4096;
  double square = math_exp(whole * whole) * math_exp((x - whole) * (x + whole));
  double found = choose(x > 25, series, square * math_erfc(x));
  return choose(x < -27, infinity(x), found);
}

inline double special_log_ndtr(double x) {
  double t = x * kRootOfHalf;
  uint8_t is_tail = x < -1;
  double tail = math_log(special_erfcx(-t) / 2) - t * t;
  return choose(is_tail, tail, math_log1p(-0.5 * math_erfc(choose(is_tail, 0.0, t))));
}

constexpr double kNdtriEdge = 0.13533528323661269189;

// Of the probability 0.5 + half.
inline double ndtri_middle(double half) {
  double square = half * half;
  return (half + half * (square * falling_powers(square, kNdtriP0) / falling_powers(square, kNdtriQ0))) *
         2.50662827463100050242;
}
// Of a small probability, and positive.
inline double ndtri_tail(double p) {
  double x = float_sqrt(-2 * math_log(p)), z = 1 / x;
  double near = falling_powers(z, kNdtriP1) / falling_powers(z, kNdtriQ1);
  double far = falling_powers(z, kNdtriP2) / falling_powers(z, kNdtriQ2);
  return x - z * (math_log(x) + choose(x < 8, near, far));
}

inline double special_ndtri(double p) {
  uint8_t is_upper = p > 1 - kNdtriEdge;
  double y = choose(is_upper, 1 - p, p);
  uint8_t is_middle = y > kNdtriEdge;
  double tail = ndtri_tail(choose(is_middle, kNdtriEdge, y));
  double found = choose(is_middle, ndtri_middle(y - 0.5), choose(is_upper, tail, -tail));
  found = choose(uint8_t(p < 0) | uint8_t(p > 1), __builtin_nan(""), found);
  return choose(p == 0, -infinity(p), choose(p == 1, infinity(p), found));
}

// That of the probability (1 + y) / 2 over the root of 2; what is exact of y is taken, not of the probability.
inline double special_erfinv(double y) {
  double size = float_abs(y), p = 0.5 * (1 - size);
  uint8_t is_middle = p > kNdtriEdge;
  double found =
      choose(is_middle, ndtri_middle(0.5 * size), ndtri_tail(choose(is_middle, kNdtriEdge, p))) * kRootOfHalf;
  found = choose(size < 1, found, choose(size == 1, infinity(y), __builtin_nan("")));
  return float_copysign(found, y);
}
// In float, to some ULP. (1 - x) is exact where it matters, near 1.
inline float float_erfinv(float x) {
  float w = -math_log((1 - x) * (1 + x));
  uint8_t is_middle = w < 6.25f;
  float middle = powers(choose(is_middle, w, 0.0f) - 3.125f, kErfinvMiddle);
  float tail = powers(float_sqrt(choose(is_middle, 9.0f, w)) - 3.27f, kErfinvTail);
  float found = x * choose(is_middle, middle, tail);
  return choose(float_abs(x) == 1, float_copysign(infinity(x), x), found);
}
