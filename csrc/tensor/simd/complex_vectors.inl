// Arithmetic of complex numbers by vectors, in which the parts of each element are adjacent.

// Of real and imaginary parts in turn: the parts changed over, the real or the imaginary ones twice, signs changed.
template <typename T, size_t... I>
inline Vector<T> parts_swapped(Vector<T> a, std::index_sequence<I...>) {
  return __builtin_shuffle(a, VectorIndex<T>{int(I ^ 1)...});
}
template <typename T, int Part, size_t... I>
inline Vector<T> part_twice(Vector<T> a, std::index_sequence<I...>) {
  return __builtin_shuffle(a, VectorIndex<T>{(int(I) / 2 * 2 + Part)...});
}
template <typename T, int Part, size_t... I>
inline Vector<T> part_negative(Vector<T> a, std::index_sequence<I...>) {
  constexpr auto sign = sizeof(T) == 4 ? std::conditional_t<sizeof(T) == 4, int32_t, int64_t>(1u << 31)
                                       : std::conditional_t<sizeof(T) == 4, int32_t, int64_t>(1ull << 63);
  return (Vector<T>)((VectorIndex<T>)a ^ VectorIndex<T>{(int(I) % 2 == Part ? sign : 0)...});
}
template <typename T>
constexpr auto kLanes = std::make_index_sequence<size_t(kVector<T>)>();

template <typename T>
inline Vector<T> vector_product(Vector<T> a, Vector<T> b) {
  Vector<T> crossed = part_twice<T, 1>(a, kLanes<T>) * parts_swapped<T>(b, kLanes<T>);
  return part_twice<T, 0>(a, kLanes<T>) * b + part_negative<T, 0>(crossed, kLanes<T>);
}

// The rows that have vectors: `apply` of operands a and b and the parameter p.
template <Pointwise Row>
struct ComplexVectors {
  static constexpr bool exists = false;
};
#define MD_COMPLEX_VECTORS(name, expression)                                                                \
  template <>                                                                                               \
  struct ComplexVectors<Pointwise::name> {                                                                  \
    static constexpr bool exists = true;                                                                    \
    template <typename T>                                                                                   \
    static inline __attribute__((always_inline)) Vector<T> apply(Vector<T> a, [[maybe_unused]] Vector<T> b, \
                                                                 [[maybe_unused]] T p) {                    \
      return expression;                                                                                    \
    }                                                                                                       \
  };
MD_COMPLEX_VECTORS(neg, -a)
MD_COMPLEX_VECTORS(conj, (part_negative<T, 1>(a, kLanes<T>)))
MD_COMPLEX_VECTORS(square, vector_product<T>(a, a))
MD_COMPLEX_VECTORS(cube, vector_product<T>(a, vector_product<T>(a, a)))
MD_COMPLEX_VECTORS(add, a + b)
MD_COMPLEX_VECTORS(add_scaled, a + p * b)
MD_COMPLEX_VECTORS(sub, a - b)
MD_COMPLEX_VECTORS(sub_scaled, a - p * b)
MD_COMPLEX_VECTORS(mul, vector_product<T>(a, b))
#undef MD_COMPLEX_VECTORS

template <typename T>
inline Vector<T> element_in_all(const Complex<T>& element) {
  Vector<T> filled;
  for (int i = 0; i < kVector<T>; ++i) filled[i] = i % 2 == 0 ? element.re : element.im;
  return filled;
}

// Returns how many elements it has computed: whole vectors. Operand i is one element if bit i of Mask is set.
template <Pointwise Row, typename T, unsigned Mask>
inline int64_t run_vectors(const Complex<T>* a, const Complex<T>* b, Complex<T>* out, int64_t n, T p) {
  constexpr int64_t kStep = kVector<T> / 2;
  [[maybe_unused]] Vector<T> first{}, second{};
  if constexpr ((Mask & 1) != 0) first = element_in_all(*a);
  if constexpr ((Mask & 2) != 0) second = element_in_all(*b);
  int64_t i = 0;
  for (; i + kStep <= n; i += kStep) {
    if constexpr ((Mask & 1) == 0) first = load_vector(reinterpret_cast<const T*>(a + i));
    if constexpr ((Mask & 2) == 0) second = load_vector(reinterpret_cast<const T*>(b + i));
    store_vector<T>(ComplexVectors<Row>::template apply<T>(first, second, p), reinterpret_cast<T*>(out + i));
  }
  return i;
}

// The real parts of two vectors of elements, or the imaginary ones.
template <typename T, int Part, size_t... I>
inline Vector<T> parts_of(Vector<T> low, Vector<T> high, std::index_sequence<I...>) {
  return __builtin_shuffle(low, high, VectorIndex<T>{(2 * int(I) + Part)...});
}

// Squares of numbers between these neither overflow nor lose digits; nor do those of zeros.
template <typename T>
constexpr T kLeastSquared = sizeof(T) == 4 ? T(1e-15) : T(1e-140);
template <typename T>
constexpr T kMostSquared = sizeof(T) == 4 ? T(1e18) : T(1e150);

// Magnitudes of whole vectors of elements, as long as their squares are exact enough; returns how many there are.
template <typename T>
inline int64_t run_magnitudes(const Complex<T>* a, T* out, int64_t n) {
  constexpr int64_t kStep = kVector<T>;
  const T* parts = reinterpret_cast<const T*>(a);
  int64_t i = 0;
  for (; i + kStep <= n; i += kStep) {
    Vector<T> low = load_vector(parts + 2 * i), high = load_vector(parts + 2 * i + kStep);
    Vector<T> re = parts_of<T, 0>(low, high, kLanes<T>), im = parts_of<T, 1>(low, high, kLanes<T>);
    re = re < 0 ? -re : re;
    im = im < 0 ? -im : im;
    Vector<T> large = re < im ? im : re;
    auto is_far = ~(((large >= kLeastSquared<T>) | (large == 0)) & (large <= kMostSquared<T>)&(re == re) & (im == im));
    int64_t any = 0;
    for (int lane = 0; lane < kVector<T>; ++lane) any |= is_far[lane];
    if (any != 0) {
      for (int64_t at = i; at < i + kStep; ++at) out[at] = magnitude(a[at]);
      continue;
    }
    Vector<T> squares = re * re + im * im, roots;
    for (int lane = 0; lane < kVector<T>; ++lane) {
      if constexpr (sizeof(T) == 4) {
        roots[lane] = __builtin_sqrtf(squares[lane]);
      } else {
        roots[lane] = __builtin_sqrt(squares[lane]);
      }
    }
    store_vector<T>(roots, out + i);
  }
  return i;
}

constexpr int64_t kMostInOneSum = 128;  // elements; more are added in halves

// The sums of the real and of the imaginary parts, pairwise.
template <typename T>
void complex_sum_run(const T* src, int64_t n, T* total) {
  if (n > kMostInOneSum) {
    int64_t half = (n / 2 + 7) / 8 * 8;
    T other[2];
    complex_sum_run(src, half, total);
    complex_sum_run(src + 2 * half, n - half, other);
    total[0] += other[0];
    total[1] += other[1];
    return;
  }
  Vector<T> sums[4] = {};
  int64_t i = 0;
  for (; i + 4 * kVector<T> <= 2 * n; i += 4 * kVector<T>) {
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) sums[v] += load_vector(src + i + v * kVector<T>);
  }
  Vector<T> all = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  T re = 0, im = 0;
  for (int lane = 0; lane < kVector<T>; lane += 2) {
    re += all[lane];
    im += all[lane + 1];
  }
  for (; i < 2 * n; i += 2) {
    re += src[i];
    im += src[i + 1];
  }
  total[0] = re;
  total[1] = im;
}

// The sum of the products of two rows of elements.
template <typename T>
void complex_dot_run(const T* a, const T* b, int64_t n, T* total) {
  if (n > 2 * kMostInOneSum) {
    int64_t half = (n / 2 + 7) / 8 * 8;
    T other[2];
    complex_dot_run(a, b, half, total);
    complex_dot_run(a + 2 * half, b + 2 * half, n - half, other);
    total[0] += other[0];
    total[1] += other[1];
    return;
  }
  // By lane: the products of equal parts, and of those that differ.
  Vector<T> equal[2] = {}, crossed[2] = {};
  int64_t i = 0;
  for (; i + 2 * kVector<T> <= 2 * n; i += 2 * kVector<T>) {
#pragma GCC unroll 2
    for (int v = 0; v < 2; ++v) {
      Vector<T> left = load_vector(a + i + v * kVector<T>), right = load_vector(b + i + v * kVector<T>);
      equal[v] += left * right;
      crossed[v] += left * parts_swapped<T>(right, kLanes<T>);
    }
  }
  Vector<T> same = equal[0] + equal[1], cross = crossed[0] + crossed[1];
  T re = 0, im = 0;
  for (int lane = 0; lane < kVector<T>; lane += 2) {
    re += same[lane] - same[lane + 1];
    im += cross[lane] + cross[lane + 1];
  }
  for (; i < 2 * n; i += 2) {
    re += a[i] * b[i] - a[i + 1] * b[i + 1];
    im += a[i] * b[i + 1] + a[i + 1] * b[i];
  }
  total[0] = re;
  total[1] = im;
}
