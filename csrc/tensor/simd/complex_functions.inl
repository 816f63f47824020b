// What complex_pointwise.def computes with.

template <typename T>
constexpr T infinite = T(__builtin_inf());

template <typename T>
inline T without_sign(T value) {
  if constexpr (std::is_same_v<T, float>) {
    return __builtin_fabsf(value);
  } else {
    return __builtin_fabs(value);
  }
}

template <typename T>
inline bool is_true(Complex<T> a) {
  return (a.re != 0) | (a.im != 0);
}

template <typename T>
inline Complex<T> times(Complex<T> a, T factor) {
  return {a.re * factor, a.im * factor};
}

template <typename T>
inline Complex<T> product(Complex<T> a, Complex<T> b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

// hypot(): an infinity wins over NaN. Scaled by the larger part, so that no square overflows; floats have room in a
// double.
inline float magnitude(Complex<float> a) {
  double re = a.re, im = a.im;
  float result = float(__builtin_sqrt(re * re + im * im));
  bool is_infinite = (without_sign(a.re) == infinite<float>) | (without_sign(a.im) == infinite<float>);
  return is_infinite ? infinite<float> : result;
}
inline double magnitude(Complex<double> a) {
  double re = without_sign(a.re), im = without_sign(a.im);
  double large = re < im ? im : re, small = re < im ? re : im;
  bool is_infinite = (re == infinite<double>) | (im == infinite<double>);
  double scale = (large == 0) | is_infinite ? 1.0 : large;
  asm("" : "+m"(scale));  // else GCC divides by 0, too, and chooses then
  double ratio = small / scale;
  double result = large * __builtin_sqrt(1.0 + ratio * ratio);
  return is_infinite ? infinite<double> : result;
}

// Smith's method, as NumPy has it. Each division is by a number that is chosen first: one that is not wanted would
// raise flags.
template <typename T>
inline Complex<T> quotient(Complex<T> a, Complex<T> b) {
  T re = without_sign(b.re), im = without_sign(b.im);
  bool is_upper = re >= im, is_zero = (re == 0) & (im == 0);
  T large = is_upper ? b.re : b.im, small = is_upper ? b.im : b.re;
  T ratio = small / (is_zero ? T(1) : large);
  T scale = T(1) / (is_zero ? re : large + small * ratio);
  T x = is_upper ? a.re + a.im * ratio : a.re * ratio + a.im;
  T y = is_upper ? a.im - a.re * ratio : a.im * ratio - a.re;
  return {(is_zero ? a.re : x) * scale, (is_zero ? a.im : y) * scale};
}
template <typename T>
inline Complex<T> inverse(Complex<T> a) {
  bool is_upper = without_sign(a.im) <= without_sign(a.re);
  T large = is_upper ? a.re : a.im, small = is_upper ? a.im : a.re;
  T ratio = small / large, scale = large + small * ratio;
  return {(is_upper ? T(1) : ratio) / scale, (is_upper ? -ratio : T(-1)) / scale};
}

template <typename T>
inline T math_atan2_of(T y, T x) {
  if constexpr (std::is_same_v<T, float>) {
    return __builtin_atan2f(y, x);
  } else {
    return __builtin_atan2(y, x);
  }
}

// C's own complex numbers, for its library.
template <typename T>
struct LibraryOf;
template <>
struct LibraryOf<float> {
  typedef __complex__ float type;
};
template <>
struct LibraryOf<double> {
  typedef __complex__ double type;
};

template <typename T>
inline typename LibraryOf<T>::type to_library(Complex<T> a) {
  typename LibraryOf<T>::type result;
  __real__ result = a.re;
  __imag__ result = a.im;
  return result;
}
template <typename T>
inline Complex<T> from_library(typename LibraryOf<T>::type a) {
  return {__real__ a, __imag__ a};
}

#define MD_LIBRARY(name)                                               \
  template <typename T>                                                \
  inline Complex<T> library_##name(Complex<T> a) {                     \
    if constexpr (std::is_same_v<T, float>) {                          \
      return from_library<float>(__builtin_c##name##f(to_library(a))); \
    } else {                                                           \
      return from_library<double>(__builtin_c##name(to_library(a)));   \
    }                                                                  \
  }
MD_LIBRARY(sqrt)
MD_LIBRARY(exp)
MD_LIBRARY(log)
MD_LIBRARY(sin)
MD_LIBRARY(cos)
MD_LIBRARY(tan)
MD_LIBRARY(asin)
MD_LIBRARY(acos)
MD_LIBRARY(atan)
MD_LIBRARY(sinh)
MD_LIBRARY(cosh)
MD_LIBRARY(tanh)
MD_LIBRARY(asinh)
MD_LIBRARY(acosh)
MD_LIBRARY(atanh)
#undef MD_LIBRARY

template <typename T>
inline Complex<T> power(Complex<T> a, Complex<T> b) {
  if (b.re == 0 && b.im == 0) return {1, 0};
  if (!is_true(a) && b.re > 0) return {0, 0};
  if constexpr (std::is_same_v<T, float>) {
    return from_library<float>(__builtin_cpowf(to_library(a), to_library(b)));
  } else {
    return from_library<double>(__builtin_cpow(to_library(a), to_library(b)));
  }
}
