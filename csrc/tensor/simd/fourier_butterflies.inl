// Fourier transforms of a few points, of a vector of numbers each.

// The real and imaginary parts of a vector of complex numbers.
template <typename T>
struct Pair {
  Vector<T> re, im;
  friend Pair operator+(const Pair& a, const Pair& b) { return {a.re + b.re, a.im + b.im}; }
  friend Pair operator-(const Pair& a, const Pair& b) { return {a.re - b.re, a.im - b.im}; }
  friend Pair operator*(const Pair& a, T b) { return {a.re * b, a.im * b}; }
};

// Times -i.
template <typename T>
inline Pair<T> turned_back(const Pair<T>& a) {
  return {a.im, -a.re};
}

template <typename T>
inline Pair<T> product(const Pair<T>& a, T re, T im) {
  return {a.re * re - a.im * im, a.re * im + a.im * re};
}

template <int Radix>
struct Butterfly;

template <>
struct Butterfly<2> {
  template <typename T>
  static inline __attribute__((always_inline)) void run(Pair<T>* a) {
    Pair<T> sum = a[0] + a[1];
    a[1] = a[0] - a[1];
    a[0] = sum;
  }
};

template <>
struct Butterfly<3> {
  template <typename T>
  static inline __attribute__((always_inline)) void run(Pair<T>* a) {
    Pair<T> sum = a[1] + a[2], apart = turned_back(a[1] - a[2]) * T(0.86602540378443864676L);
    Pair<T> middle = a[0] - sum * T(0.5);
    a[0] = a[0] + sum;
    a[1] = middle + apart;
    a[2] = middle - apart;
  }
};

template <>
struct Butterfly<4> {
  template <typename T>
  static inline __attribute__((always_inline)) void run(Pair<T>* a) {
    Pair<T> even = a[0] + a[2], odd = a[1] + a[3];
    Pair<T> middle = a[0] - a[2], apart = turned_back(a[1] - a[3]);
    a[0] = even + odd;
    a[1] = middle + apart;
    a[2] = even - odd;
    a[3] = middle - apart;
  }
};

template <>
struct Butterfly<5> {
  template <typename T>
  static inline __attribute__((always_inline)) void run(Pair<T>* a) {
    constexpr T kCos1 = 0.30901699437494742410L, kCos2 = -0.80901699437494742410L;
    constexpr T kSin1 = 0.95105651629515357212L, kSin2 = 0.58778525229247312917L;
    Pair<T> outer = a[1] + a[4], inner = a[2] + a[3];
    Pair<T> outer_apart = turned_back(a[1] - a[4]), inner_apart = turned_back(a[2] - a[3]);
    Pair<T> first = a[0] + outer * kCos1 + inner * kCos2, second = a[0] + outer * kCos2 + inner * kCos1;
    Pair<T> first_apart = outer_apart * kSin1 + inner_apart * kSin2;
    Pair<T> second_apart = outer_apart * kSin2 - inner_apart * kSin1;
    a[0] = a[0] + outer + inner;
    a[1] = first + first_apart;
    a[4] = first - first_apart;
    a[2] = second + second_apart;
    a[3] = second - second_apart;
  }
};

template <>
struct Butterfly<8> {
  template <typename T>
  static inline __attribute__((always_inline)) void run(Pair<T>* a) {
    constexpr T kRoot = 0.70710678118654752440L;
    Pair<T> even[4] = {a[0], a[2], a[4], a[6]}, odd[4] = {a[1], a[3], a[5], a[7]};
    Butterfly<4>::run(even);
    Butterfly<4>::run(odd);
    odd[1] = (odd[1] + turned_back(odd[1])) * kRoot;
    odd[2] = turned_back(odd[2]);
    odd[3] = (turned_back(odd[3]) - odd[3]) * kRoot;
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k) {
      a[k] = even[k] + odd[k];
      a[k + 4] = even[k] - odd[k];
    }
  }
};

// Of any odd number of points: pairs of them share their products.
template <typename T>
inline void odd_butterfly(int64_t radix, const T* roots, const Pair<T>* a, Pair<T>* to) {
  int64_t half = (radix - 1) / 2;
  Pair<T> sums[kMostFourierRadix / 2], aparts[kMostFourierRadix / 2];
  to[0] = a[0];
  for (int64_t k = 0; k < half; ++k) {
    sums[k] = a[k + 1] + a[radix - 1 - k];
    aparts[k] = turned_back(a[k + 1] - a[radix - 1 - k]);
    to[0] = to[0] + sums[k];
  }
  for (int64_t j = 1; j <= half; ++j) {
    Pair<T> middle = a[0], apart = {};
    int64_t place = 0;
    for (int64_t k = 0; k < half; ++k) {
      place = place + j < radix ? place + j : place + j - radix;
      middle = middle + sums[k] * roots[2 * place];
      apart = apart + aparts[k] * -roots[2 * place + 1];
    }
    to[j] = middle + apart;
    to[radix - j] = middle - apart;
  }
}
