// Squares of elements, a vector for each row.

// Elements i of a and b in turn, from the first or from the middle on.
template <typename T, bool FromMiddle, int... I>
inline Vector<T> in_turn(Vector<T> a, Vector<T> b, std::integer_sequence<int, I...>) {
  constexpr int kCount = sizeof...(I), kFirst = FromMiddle ? kCount / 2 : 0;
  return __builtin_shufflevector(a, b, (I % 2 * kCount + kFirst + I / 2)...);
}
// Elements `First`, First + 2 ... of two vectors, one after the other.
template <typename T, int First, int... I>
inline Vector<T> every_second(Vector<T> a, Vector<T> b, std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(a, b, (First + 2 * I)...);
}
template <typename T>
constexpr auto kLanesOf = std::make_integer_sequence<int, kVector<T>>();

// Rows become columns: each round turns the numbers of the elements by one bit.
template <typename T>
inline void transpose(Vector<T>* lines) {
  constexpr int kSide = kVector<T>;
  Vector<T> turned[kSide];
#pragma GCC unroll 4
  for (int round = 1; round < kSide; round *= 2) {
#pragma GCC unroll 8
    for (int i = 0; i < kSide / 2; ++i) {
      turned[2 * i] = in_turn<T, false>(lines[i], lines[i + kSide / 2], kLanesOf<T>);
      turned[2 * i + 1] = in_turn<T, true>(lines[i], lines[i + kSide / 2], kLanesOf<T>);
    }
#pragma GCC unroll 16
    for (int i = 0; i < kSide; ++i) lines[i] = turned[i];
  }
}
