// Functions of complex numbers by blocks: with vectors, where the C library has them for the functions of their parts.

constexpr int kComplexBlock = 64;  // elements

// Powers of e up to this are not near the ends of the type's range.
template <typename T>
constexpr double kMostExponentOf = sizeof(T) == 4 ? 80 : 700;
constexpr double kMostAngle = 1e5;
constexpr double kNearlyOne = 20;  // from which on a hyperbolic tangent is 1
constexpr double kPerLn2 = 1.442695040888963407359924681001892137;
constexpr double kPerLn10 = 0.434294481903251827651128918916605082;

inline int is_within(double x, double limit) { return without_sign(x) <= limit; }
inline double sum_of_squares(double x, double y) { return x * x + y * y; }

// Whether the larger part's square is an ordinary number.
inline int is_squarable(double x, double y) {
  double large = without_sign(x) < without_sign(y) ? without_sign(y) : without_sign(x);
  return int(large >= 1e-140) & int(large <= 1e150) & int(x == x) & int(y == y);
}

inline double half_sum_root(double x, double y) {
  return __builtin_sqrt(0.5 * (__builtin_sqrt(sum_of_squares(x, y)) + without_sign(x)));
}
inline double root_real(double x, double y) {
  double root = half_sum_root(x, y);
  return x >= 0 ? root : without_sign(y) / (2 * root);
}
inline double root_imaginary(double x, double y) {
  double root = half_sum_root(x, y);
  return x >= 0 ? y / (2 * root) : __builtin_copysign(root, y);
}

// Near one, from the distance of the square to one. No logarithm is of a number that the other form is for.
inline double log_magnitude(double x, double y) {
  double re = without_sign(x), im = without_sign(y);
  double large = re < im ? im : re, small = re < im ? re : im;
  double square = sum_of_squares(large, small);
  int is_near = int(square > 0.25) & int(square < 4);
  double beyond_one = (large - 1) * (large + 1) + small * small;
  double near = ::log1p(is_near ? beyond_one : 0.0), far = ::log(is_near ? 1.0 : square);
  return 0.5 * (near + far);
}

template <Pointwise Row>
struct ComplexBlocks {
  static constexpr bool exists = false;
};
#define MD_COMPLEX_BLOCKS(name, ordinary, real, imaginary)                                                           \
  template <>                                                                                                        \
  struct ComplexBlocks<Pointwise::name> {                                                                            \
    static constexpr bool exists = true;                                                                             \
    static inline int is_ordinary(double x, double y, [[maybe_unused]] double kMostExponent) { return ordinary; }    \
    static inline void apply(const double* __restrict re, const double* __restrict im, double* __restrict real_part, \
                             double* __restrict imaginary_part) {                                                    \
      for (int i = 0; i < kComplexBlock; ++i) {                                                                      \
        double x = re[i], y = im[i];                                                                                 \
        real_part[i] = real;                                                                                         \
        imaginary_part[i] = imaginary;                                                                               \
      }                                                                                                              \
    }                                                                                                                \
  };
#include "tensor/simd/complex_blocks.def"
#undef MD_COMPLEX_BLOCKS

// Returns how many elements it has computed: whole blocks.
template <Pointwise Row, typename T>
inline int64_t run_complex_blocks(const Complex<T>* a, Complex<T>* out, int64_t n) {
  double re[kComplexBlock], im[kComplexBlock], real[kComplexBlock], imaginary[kComplexBlock];
  int64_t first = 0;
  for (; first + kComplexBlock <= n; first += kComplexBlock) {
    int are_ordinary = 1;
    for (int i = 0; i < kComplexBlock; ++i) {
      re[i] = a[first + i].re;
      im[i] = a[first + i].im;
      are_ordinary &= ComplexBlocks<Row>::is_ordinary(re[i], im[i], kMostExponentOf<T>);
    }
    if (are_ordinary == 0) {
      for (int64_t i = first; i < first + kComplexBlock; ++i)
        out[i] = ComplexFunction<Row>::template apply<T>(a[i], a[i], a[i], T{});
      continue;
    }
    ComplexBlocks<Row>::apply(re, im, real, imaginary);
    for (int i = 0; i < kComplexBlock; ++i) out[first + i] = {T(real[i]), T(imaginary[i])};
  }
  return first;
}
