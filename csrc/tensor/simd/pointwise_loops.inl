// Loops over the functions of pointwise.def, for those dtypes for which is_in_part is true.

// A bool in memory is a byte of 0 or 1, and read as such: GCC does not vectorise loops over bool.
template <typename T>
using Stored = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;

// One struct per row: apply() returns Unsupported if the dtype has no such function.
#define MD_POINTWISE(name, arity_, params_, result_, traits_, floating, integer, boolean)                            \
  struct Function_##name {                                                                                           \
    static constexpr int arity = arity_;                                                                             \
    static constexpr int params = params_;                                                                           \
    static constexpr PointwiseResult result = PointwiseResult::result_;                                              \
    static constexpr bool wraps = PointwiseTrait::traits_ == PointwiseTrait::Wraps;                                  \
    template <typename T, typename A, typename V = T>                                                                \
    static inline auto apply([[maybe_unused]] A a, [[maybe_unused]] V b, [[maybe_unused]] V c, [[maybe_unused]] V p, \
                             [[maybe_unused]] V q = {}, [[maybe_unused]] V r = {}) {                                 \
      [[maybe_unused]] A cond = a;                                                                                   \
      if constexpr (std::is_same_v<T, bool>) {                                                                       \
        return (boolean);                                                                                            \
      } else if constexpr (std::is_floating_point_v<T>) {                                                            \
        return (floating);                                                                                           \
      } else {                                                                                                       \
        return (integer);                                                                                            \
      }                                                                                                              \
    }                                                                                                                \
  };
#include "tensor/simd/pointwise.def"
#undef MD_POINTWISE

#include "tensor/simd/fast_paths.inl"

template <typename F, typename T>
using FirstOperand = std::conditional_t<F::result == PointwiseResult::Select, uint8_t, Stored<T>>;
template <typename F, typename T>
using ResultOf = std::conditional_t<F::result == PointwiseResult::Bool && !std::is_same_v<T, bool>, bool, Stored<T>>;

template <typename F, typename T>
constexpr bool is_supported =
    !std::is_same_v<decltype(F::template apply<T, FirstOperand<F, T>>({}, Stored<T>{}, Stored<T>{}, Stored<T>{})),
                    Unsupported>;

template <typename T>
inline Stored<T> param_value(const Scalar& param) {
  if constexpr (std::is_floating_point_v<T>) {
    return T(param.as_double());
  } else if constexpr (std::is_same_v<T, bool>) {
    return param.as_int() != 0;
  } else {
    return T(param.as_int());
  }
}

// The function of a positive number is a multiple of it: numbers that are all positive skip the rest. 0: no such
// function.
template <typename F>
constexpr double factor_above_zero = 0;
template <>
constexpr double factor_above_zero<Function_elu> = 1;
template <>
constexpr double factor_above_zero<Function_celu> = 1;
template <>
constexpr double factor_above_zero<Function_selu> = 1.0507009873554804934193349852946;

// The functions of Floats, and those with expressions composed of them.
template <typename F, typename T>
constexpr bool takes_floats = false;
#if MD_LEVEL_BYTES >= 32
#define MD_TAKES_FLOATS(name) \
  template <>                 \
  constexpr bool takes_floats<Function_##name, float> = true;
MD_TAKES_FLOATS(exp)
MD_TAKES_FLOATS(exp2)
MD_TAKES_FLOATS(expm1)
MD_TAKES_FLOATS(elu)
MD_TAKES_FLOATS(selu)
MD_TAKES_FLOATS(celu)
MD_TAKES_FLOATS(log)
MD_TAKES_FLOATS(sin)
MD_TAKES_FLOATS(cos)
MD_TAKES_FLOATS(erf)
MD_TAKES_FLOATS(tanh)
MD_TAKES_FLOATS(sigmoid)
MD_TAKES_FLOATS(silu)
MD_TAKES_FLOATS(gelu)
MD_TAKES_FLOATS(gelu_tanh)
#undef MD_TAKES_FLOATS

// No lambda: GCC 12 compiles one inside a template for the command line's target.
template <typename F>
struct OfFloats {
  float p;
  inline Floats operator()(Floats x) const {
    if constexpr (factor_above_zero<F> != 0) {
      if (all_positive(x)) return x * float(factor_above_zero<F>);
    }
    return F::template apply<float, Floats>(x, {}, {}, p);
  }
};

template <typename F>
void loop_over_floats(const void* const* src, void* dst, int64_t n, [[maybe_unused]] const Scalar* params) {
  OfFloats<F> function = {};
  if constexpr (F::params > 0) function.p = param_value<float>(params[0]);
  map_floats(static_cast<const float*>(src[0]), static_cast<float*>(dst), n, function);
}
#else
template <typename F>
void loop_over_floats(const void* const*, void*, int64_t, const Scalar*);
#endif

// As guarded_loop_of, with a path over whole vectors: blocks of them, and a padded last vector.
template <typename F, typename T, unsigned Mask>
void avx512_loop_of(const void* const* src, void* dst, int64_t n) {
  using Form = Avx512Path<F, T>;
  constexpr int64_t kBlock = 256, kLanes = Form::lanes;
  const T* operands[2] = {static_cast<const T*>(src[0]), static_cast<const T*>(src[1])};
  T* out = static_cast<T*>(dst);
  // A block's operands are read twice, so the result must not overwrite them in between.
  bool in_place = out == operands[0] || out == operands[1];
  T padded[2][kBlock], made[kBlock], exact[kBlock];
  unsigned holds[kBlock / kLanes];
  int64_t longest = n < kBlock ? (n + kLanes - 1) / kLanes * kLanes : kBlock;
  for (int64_t i = 0; i < longest; ++i) {
    padded[0][i] = Mask & 1 ? *operands[0] : T(1);
    padded[1][i] = Mask & 2 ? *operands[1] : T(1);
  }
  for (int64_t at = 0; at < n; at += kBlock) {
    int64_t count = n - at < kBlock ? n - at : kBlock;
    const T* read[2];
    for (int k = 0; k < 2; ++k) {
      bool is_number = (Mask >> k) & 1;
      read[k] = is_number ? padded[k] : operands[k] + at;
      if (is_number || count == kBlock) continue;
      __builtin_memcpy(padded[k], read[k], size_t(count) * sizeof(T));
      read[k] = padded[k];
    }
    T* place = in_place || count < kBlock ? made : out + at;
    unsigned all_hold = (1u << kLanes) - 1;
    for (int64_t i = 0; i < count; i += kLanes) {
      holds[i / kLanes] = Form::run(read[0] + i, read[1] + i, place + i);
      all_hold &= holds[i / kLanes];
    }
    if (all_hold != (1u << kLanes) - 1) {
      for (int64_t i = 0; i < count; ++i) exact[i] = F::template apply<T, T>(read[0][i], read[1][i], T{}, T{});
      for (int64_t i = 0; i < count; ++i) {
        if ((holds[i / kLanes] >> (i % kLanes) & 1) == 0) place[i] = exact[i];
      }
    }
    if (place == made) __builtin_memcpy(out + at, made, size_t(count) * sizeof(T));
  }
}

// A unary or binary function with a fast path: the path over blocks, and the function where it does not hold.
template <typename F, typename T, unsigned Mask>
void guarded_loop_of(const void* const* src, void* dst, int64_t n) {
  constexpr int64_t kBlock = 256;
  using Flag = std::conditional_t<sizeof(T) == sizeof(double), uint64_t, uint32_t>;
  const T* operands[2] = {static_cast<const T*>(src[0]), static_cast<const T*>(F::arity > 1 ? src[1] : src[0])};
  T* out = static_cast<T*>(dst);
  // A block's operands are read twice, so the result must not overwrite them in between.
  bool in_place = out == operands[0] || out == operands[1];
  T a_value = *operands[0], b_value = *operands[1];
  T made[kBlock], exact[kBlock];
  for (int64_t at = 0; at < n; at += kBlock) {
    int64_t count = n - at < kBlock ? n - at : kBlock;
    const T* a = operands[0] + (Mask & 1 ? 0 : at);
    const T* b = operands[1] + (Mask & 2 ? 0 : at);
    T* place = in_place ? made : out + at;
    Flag failed = 0;
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) {
      bool holds;
      place[i] = FastPath<F, T>::value(Mask & 1 ? a_value : a[i], Mask & 2 ? b_value : b[i], holds);
      failed |= holds ? Flag(0) : Flag(1);
    }
    if (failed != 0) {
      for (int64_t i = 0; i < count; ++i) {
        exact[i] = F::template apply<T, T>(Mask & 1 ? a_value : a[i], Mask & 2 ? b_value : b[i], T{}, T{});
      }
      for (int64_t i = 0; i < count; ++i) {
        bool holds;
        FastPath<F, T>::value(Mask & 1 ? a_value : a[i], Mask & 2 ? b_value : b[i], holds);
        place[i] = holds ? place[i] : exact[i];
      }
    }
    if (in_place) __builtin_memcpy(out + at, made, size_t(count) * sizeof(T));
  }
}

template <typename T>
inline bool all_above_zero(const T* a, int64_t n) {
  int64_t others = 0;
  for (int64_t i = 0; i < n; ++i) others += !(a[i] > T(0));
  return others == 0;
}

// A function of one operand that has a factor above zero, by blocks. Of numbers of both signs a few elements say so.
template <typename F, typename T>
void loop_above_zero(const void* const* src, void* dst, int64_t n, [[maybe_unused]] const Scalar* params) {
  constexpr int64_t kBlock = 256, kFew = 16;
  const T* a = static_cast<const T*>(src[0]);
  T* out = static_cast<T*>(dst);
  T p{};
  if constexpr (F::params > 0) p = param_value<T>(params[0]);
  for (int64_t at = 0; at < n; at += kBlock) {
    int64_t count = n - at < kBlock ? n - at : kBlock;
    bool is_positive = all_above_zero(a + at, count < kFew ? count : kFew) && all_above_zero(a + at, count);
    if (is_positive) {
#pragma GCC ivdep
      for (int64_t i = at; i < at + count; ++i) out[i] = a[i] * T(factor_above_zero<F>);
    } else {
#pragma GCC ivdep
      for (int64_t i = at; i < at + count; ++i) out[i] = F::template apply<T, T>(a[i], T{}, T{}, p);
    }
  }
}

// Mask bits: operand i is a single element, read before the loop because dst may alias it.
template <typename F, typename T, unsigned Mask>
void pointwise_loop_of(const void* const* src, void* dst, int64_t n, [[maybe_unused]] const Scalar* params) {
  if constexpr (takes_floats<F, T>) return loop_over_floats<F>(src, dst, n, params);
  if constexpr (factor_above_zero<F> != 0) return loop_above_zero<F, T>(src, dst, n, params);
  if constexpr (Avx512Path<F, T>::exists) return avx512_loop_of<F, T, Mask>(src, dst, n);
  if constexpr (FastPath<F, T>::exists) return guarded_loop_of<F, T, Mask>(src, dst, n);
  using A = FirstOperand<F, T>;
  using V = Stored<T>;
  using R = ResultOf<F, T>;
  const A* a = static_cast<const A*>(src[0]);
  [[maybe_unused]] const V* b = nullptr;
  [[maybe_unused]] const V* c = nullptr;
  if constexpr (F::arity > 1) b = static_cast<const V*>(src[1]);
  if constexpr (F::arity > 2) c = static_cast<const V*>(src[2]);
  [[maybe_unused]] A a_value{};
  [[maybe_unused]] V b_value{}, c_value{}, p{}, q{}, r{};
  if constexpr (Mask & 1) a_value = *a;
  if constexpr (Mask & 2) b_value = *b;
  if constexpr (Mask & 4) c_value = *c;
  if constexpr (F::params > 0) p = param_value<T>(params[0]);
  if constexpr (F::params > 1) q = param_value<T>(params[1]);
  if constexpr (F::params > 2) r = param_value<T>(params[2]);
  R* out = static_cast<R*>(dst);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    A x = a_value;
    V y = b_value, z = c_value;
    if constexpr (!(Mask & 1)) x = a[i];
    if constexpr (F::arity > 1 && !(Mask & 2)) y = b[i];
    if constexpr (F::arity > 2 && !(Mask & 4)) z = c[i];
    out[i] = R(F::template apply<T, A>(x, y, z, p, q, r));
  }
}

struct HalfOperands {
  int arity;
  unsigned mask;
  PointwiseResult result;
};

// float16 and bfloat16: the float32 loop over tiles. One function for all of them, since inlining the loop into each
// takes more than half of the compile time of all loops.
template <typename H>
__attribute__((noinline, noclone)) void loop_over_halves(PointwiseLoop loop, HalfOperands operands,
                                                         const void* const* src, void* dst, int64_t n,
                                                         const Scalar* params) {
  constexpr int64_t kTile = 512;
  alignas(64) float tiles[3][kTile];
  alignas(64) float result[kTile];
  const void* tile_src[3] = {};
  for (int64_t at = 0; at < n; at += kTile) {
    int64_t count = n - at < kTile ? n - at : kTile;
    for (int i = 0; i < operands.arity; ++i) {
      if ((operands.mask >> i) & 1) {
        tile_src[i] = src[i];
      } else if (i == 0 && operands.result == PointwiseResult::Select) {
        tile_src[i] = static_cast<const bool*>(src[i]) + at;
      } else {
        convert_loop<H, float>(static_cast<const H*>(src[i]) + at, tiles[i], count);
        tile_src[i] = tiles[i];
      }
    }
    if (operands.result == PointwiseResult::Bool) {
      loop(tile_src, static_cast<bool*>(dst) + at, count, params);
    } else {
      loop(tile_src, result, count, params);
      convert_loop<float, H>(result, static_cast<H*>(dst) + at, count);
    }
  }
}

template <typename F, typename H, unsigned Mask>
void half_loop_of(const void* const* src, void* dst, int64_t n, const Scalar* params) {
  loop_over_halves<H>(pointwise_loop_of<F, float, Mask>, {F::arity, Mask, F::result}, src, dst, n, params);
}

// Halves chosen by a condition are words that need no conversion.
template <typename F, typename H, unsigned Mask>
void half_select_loop(const void* const* src, void* dst, int64_t n, const Scalar* params) {
  const void* places[3] = {src[0], src[1], src[2]};
  H numbers[3];
  for (int i = 1; i < 3; ++i) {
    if (((Mask >> i) & 1) == 0) continue;
    narrow(*static_cast<const float*>(src[i]), numbers[i]);
    places[i] = &numbers[i];
  }
  pointwise_loop_of<F, int16_t, Mask>(places, dst, n, params);
}

// Functions of the sign bit need no conversion either.
template <typename F>
constexpr bool changes_signs = false;
template <>
constexpr bool changes_signs<Function_neg> = true;
template <>
constexpr bool changes_signs<Function_abs> = true;
template <>
constexpr bool changes_signs<Function_copysign> = true;

template <typename F, unsigned Mask>
inline uint16_t with_other_sign(uint16_t a, uint16_t b) {
  if constexpr (std::is_same_v<F, Function_neg>) return a ^ 0x8000;
  if constexpr (std::is_same_v<F, Function_abs>) return a & 0x7fff;
  return (a & 0x7fff) | (b & 0x8000);
}

template <typename F, typename H, unsigned Mask>
void half_sign_loop(const void* const* src, void* dst, int64_t n, const Scalar*) {
  constexpr int last = F::arity - 1;
  H numbers[2] = {};
  for (int i = 0; i <= last; ++i) {
    if ((Mask >> i) & 1) narrow(*static_cast<const float*>(src[i]), numbers[i]);
  }
  const uint16_t* a = static_cast<const uint16_t*>(Mask & 1 ? static_cast<const void*>(&numbers[0]) : src[0]);
  const uint16_t* b = static_cast<const uint16_t*>(Mask & 2 ? static_cast<const void*>(&numbers[last]) : src[last]);
  [[maybe_unused]] uint16_t a_value = *a, b_value = *b;
  uint16_t* out = static_cast<uint16_t*>(dst);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    uint16_t x = a_value, y = b_value;
    if constexpr (!(Mask & 1)) x = a[i];
    if constexpr (!(Mask & 2)) y = b[i];
    out[i] = with_other_sign<F, Mask>(x, y);
  }
}

#include "tensor/simd/half_loops.inl"

#if MD_LEVEL_BYTES >= 64
// One 64-byte square root takes longer than two of 32 bytes.
template <typename T>
__attribute__((target("prefer-vector-width=256"))) void sqrt_loop(const void* const* src, void* dst, int64_t n,
                                                                  const Scalar*) {
  const T* a = static_cast<const T*>(src[0]);
  T* out = static_cast<T*>(dst);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    if constexpr (sizeof(T) == sizeof(float)) {
      out[i] = __builtin_sqrtf(a[i]);
    } else {
      out[i] = __builtin_sqrt(a[i]);
    }
  }
}
template <typename F, typename T>
constexpr bool is_sqrt = std::is_same_v<F, Function_sqrt> && std::is_floating_point_v<T>;
#else
template <typename F, typename T>
constexpr bool is_sqrt = false;
template <typename T>
void sqrt_loop(const void* const*, void*, int64_t, const Scalar*);
#endif

template <typename F, typename T, unsigned Mask>
constexpr PointwiseLoop select_loop() {
  if constexpr (is_sqrt<F, T>) {
    return sqrt_loop<T>;
  } else if constexpr (is_half<T>) {
    if constexpr (!is_supported<F, float>) {
      return nullptr;
    } else if constexpr (F::result == PointwiseResult::Select) {
      return half_select_loop<F, T, Mask>;
    } else if constexpr (changes_signs<F>) {
      return half_sign_loop<F, T, Mask>;
    } else if constexpr (takes_halves<F>) {
      return half_vectors_loop<F, T, Mask>;
    } else {
      return half_loop_of<F, T, Mask>;
    }
  } else if constexpr (is_supported<F, T>) {
    return pointwise_loop_of<F, T, Mask>;
  } else {
    return nullptr;
  }
}

template <typename F, typename Element>
constexpr void fill_masks(PointwiseLoop* masks) {
  using T = std::conditional_t<F::wraps, Wrapping<Element>, Element>;
  masks[0] = select_loop<F, T, 0>();
  if constexpr (F::arity == 2) {
    masks[1] = select_loop<F, T, 1>();
    masks[2] = select_loop<F, T, 2>();
  } else if constexpr (F::arity == 3) {
    masks[1] = select_loop<F, T, 2>();
    masks[2] = select_loop<F, T, 4>();
    masks[3] = select_loop<F, T, 6>();
  }
}

template <typename T, DTypeCategory Category>
constexpr void fill_rows(PointwiseMasks* rows) {
  if constexpr (is_in_part(Category)) {
#define MD_POINTWISE(name, ...) fill_masks<Function_##name, T>(rows[static_cast<int>(Pointwise::name)]);
#include "tensor/simd/pointwise.def"
#undef MD_POINTWISE
  }
}

constexpr PointwiseTable make_pointwise_table() {
  PointwiseTable table{};
#define MD_DTYPE(name, ctype, category, ...) \
  fill_rows<ctype, DTypeCategory::category>(table.loops[static_cast<int>(DType::name)]);
#include "tensor/dtypes.def"
#undef MD_DTYPE
  return table;
}
