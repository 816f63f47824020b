// Loops over the functions of complex_pointwise.def.

template <Pointwise Row>
struct ComplexFunction {
  static constexpr bool exists = false;
};

#define MD_COMPLEX_POINTWISE(name, expression)                                                                         \
  template <>                                                                                                          \
  struct ComplexFunction<Pointwise::name> {                                                                            \
    static constexpr bool exists = true;                                                                               \
    template <typename T, typename A, typename C>                                                                      \
    static inline auto apply([[maybe_unused]] A a, [[maybe_unused]] C b, [[maybe_unused]] C c, [[maybe_unused]] T p) { \
      [[maybe_unused]] A cond = a;                                                                                     \
      return expression;                                                                                               \
    }                                                                                                                  \
  };
#include "tensor/simd/complex_pointwise.def"
#undef MD_COMPLEX_POINTWISE

#include "tensor/simd/complex_blocks.inl"

template <Pointwise Row>
constexpr bool selects = false;
template <>
constexpr bool selects<Pointwise::where> = true;

// Operand i is one element if bit i of Mask is set.
template <Pointwise Row, typename T, unsigned Mask, int Arity>
void complex_loop(const void* const* src, void* dst, int64_t n, const Scalar* params) {
  using C = Complex<T>;
  using A = std::conditional_t<selects<Row>, uint8_t, C>;
  using Computed = decltype(ComplexFunction<Row>::template apply<T, A, C>(A{}, C{}, C{}, T{}));
  // & and | of bools are ints.
  using R = std::conditional_t<std::is_same_v<Computed, int>, bool, Computed>;
  const A* a = static_cast<const A*>(src[0]);
  const C* b = static_cast<const C*>(src[Arity > 1 ? 1 : 0]);
  const C* c = static_cast<const C*>(src[Arity > 2 ? 2 : 0]);
  R* out = static_cast<R*>(dst);
  [[maybe_unused]] T p = params != nullptr ? T(params[0].as_double()) : T(0);
  [[maybe_unused]] A first{};
  [[maybe_unused]] C second{}, third{};
  if constexpr ((Mask & 1) != 0) first = *a;
  if constexpr ((Mask & 2) != 0) second = *b;
  if constexpr ((Mask & 4) != 0) third = *c;
  int64_t start = 0;
  if constexpr (ComplexVectors<Row>::exists) start = run_vectors<Row, T, Mask>(a, b, out, n, p);
  if constexpr (Row == Pointwise::abs && Mask == 0) start = run_magnitudes<T>(a, out, n);
  if constexpr (ComplexBlocks<Row>::exists && Mask == 0) start = run_complex_blocks<Row, T>(a, out, n);
#pragma GCC ivdep
  for (int64_t i = start; i < n; ++i) {
    A x = first;
    C y = second, z = third;
    if constexpr ((Mask & 1) == 0) x = a[i];
    if constexpr (Arity > 1 && (Mask & 2) == 0) y = b[i];
    if constexpr (Arity > 2 && (Mask & 4) == 0) z = c[i];
    out[i] = R(ComplexFunction<Row>::template apply<T, A, C>(x, y, z, p));
  }
}

template <Pointwise Row, typename T, int Arity>
constexpr void fill_complex_masks(PointwiseLoop* masks) {
  if constexpr (ComplexFunction<Row>::exists) {
    masks[0] = complex_loop<Row, T, 0, Arity>;
    if constexpr (Arity == 2) {
      masks[1] = complex_loop<Row, T, 1, Arity>;
      masks[2] = complex_loop<Row, T, 2, Arity>;
    } else if constexpr (Arity == 3) {
      masks[1] = complex_loop<Row, T, 2, Arity>;
      masks[2] = complex_loop<Row, T, 4, Arity>;
      masks[3] = complex_loop<Row, T, 6, Arity>;
    }
  }
}

template <typename T>
constexpr void fill_complex_rows(PointwiseMasks* rows) {
#define MD_POINTWISE(name, arity, ...) \
  fill_complex_masks<Pointwise::name, T, arity>(rows[static_cast<int>(Pointwise::name)]);
#include "tensor/simd/pointwise.def"
#undef MD_POINTWISE
}

constexpr PointwiseTable make_complex_table() {
  PointwiseTable table{};
  fill_complex_rows<float>(table.loops[static_cast<int>(DType::complex64)]);
  fill_complex_rows<double>(table.loops[static_cast<int>(DType::complex128)]);
  return table;
}
