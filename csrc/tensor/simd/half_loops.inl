// Loops over halves whose expressions of pointwise.def apply to vectors of floats: loaded, computed and rounded in one
// pass. The results are those of loop_over_halves.

template <typename F>
constexpr bool takes_halves = false;

#if MD_LEVEL_BYTES >= 32
#define MD_TAKES_HALVES(name) \
  template <>                 \
  constexpr bool takes_halves<Function_##name> = true;
MD_TAKES_HALVES(sign)
MD_TAKES_HALVES(square)
MD_TAKES_HALVES(cube)
MD_TAKES_HALVES(reciprocal)
MD_TAKES_HALVES(sqrt)
MD_TAKES_HALVES(rsqrt)
MD_TAKES_HALVES(floor)
MD_TAKES_HALVES(ceil)
MD_TAKES_HALVES(trunc)
MD_TAKES_HALVES(round)
MD_TAKES_HALVES(frac)
MD_TAKES_HALVES(signbit)
MD_TAKES_HALVES(relu)
MD_TAKES_HALVES(leaky_relu)
MD_TAKES_HALVES(expm1)
MD_TAKES_HALVES(elu)
MD_TAKES_HALVES(selu)
MD_TAKES_HALVES(celu)
MD_TAKES_HALVES(hardsigmoid)
MD_TAKES_HALVES(hardswish)
MD_TAKES_HALVES(nan_to_num)
MD_TAKES_HALVES(logical_not)
MD_TAKES_HALVES(isnan)
MD_TAKES_HALVES(isinf)
MD_TAKES_HALVES(isfinite)
MD_TAKES_HALVES(add)
MD_TAKES_HALVES(add_scaled)
MD_TAKES_HALVES(sub)
MD_TAKES_HALVES(sub_scaled)
MD_TAKES_HALVES(mul)
MD_TAKES_HALVES(div)
MD_TAKES_HALVES(fmax)
MD_TAKES_HALVES(fmin)
MD_TAKES_HALVES(maximum)
MD_TAKES_HALVES(minimum)
MD_TAKES_HALVES(logical_and)
MD_TAKES_HALVES(logical_or)
MD_TAKES_HALVES(logical_xor)
MD_TAKES_HALVES(heaviside)
MD_TAKES_HALVES(threshold)
MD_TAKES_HALVES(hardshrink)
MD_TAKES_HALVES(softshrink)
MD_TAKES_HALVES(eq)
MD_TAKES_HALVES(ne)
MD_TAKES_HALVES(lt)
MD_TAKES_HALVES(le)
MD_TAKES_HALVES(gt)
MD_TAKES_HALVES(ge)
MD_TAKES_HALVES(clamp)
MD_TAKES_HALVES(addcmul)
MD_TAKES_HALVES(addcmul_scaled)
MD_TAKES_HALVES(addcdiv)
MD_TAKES_HALVES(addcdiv_scaled)
#undef MD_TAKES_HALVES

inline void store_result(Half* dst, WideHalves x) { store_halves(dst, x); }
inline void store_result(BFloat16* dst, WideHalves x) { store_halves(dst, x); }
template <typename Truths>
inline void store_result(bool* dst, Truths x) {
  store_truths(reinterpret_cast<uint8_t*>(dst), (WideBits)x);
}

// Operand i of a vector: elements from `at` on, or the number.
template <unsigned Mask, int i, typename H>
inline WideHalves half_operand(const void* const* src, int64_t at) {
  if constexpr ((Mask >> i) & 1) {
    return every_wide(*static_cast<const float*>(src[i]));
  } else {
    return load_halves(static_cast<const H*>(src[i]) + at);
  }
}

// The last elements, fewer than a vector, are computed by the same instructions in other memory: whether a product and
// a sum are contracted must not depend on the place.
template <typename F, typename H, unsigned Mask>
__attribute__((noinline, noclone)) void half_vectors_loop(const void* const* src, void* dst, int64_t n,
                                                          const Scalar* params) {
  using R = std::conditional_t<F::result == PointwiseResult::Bool, bool, H>;
  float p = 0, q = 0, r = 0;
  if constexpr (F::params > 0) p = param_value<float>(params[0]);
  if constexpr (F::params > 1) q = param_value<float>(params[1]);
  if constexpr (F::params > 2) r = param_value<float>(params[2]);
  WideHalves vp = every_wide(p), vq = every_wide(q), vr = every_wide(r);
  // The numbers are read before anything is written.
  WideHalves x{}, y{}, z{};
  if constexpr ((Mask & 1) != 0) x = half_operand<Mask, 0, H>(src, 0);
  if constexpr (F::arity > 1 && (Mask & 2) != 0) y = half_operand<Mask, 1, H>(src, 0);
  if constexpr (F::arity > 2 && (Mask & 4) != 0) z = half_operand<Mask, 2, H>(src, 0);
  R* out = static_cast<R*>(dst);
  int64_t i = 0;
  for (; i + kWideHalves <= n; i += kWideHalves) {
    if constexpr ((Mask & 1) == 0) x = half_operand<Mask, 0, H>(src, i);
    if constexpr (F::arity > 1 && (Mask & 2) == 0) y = half_operand<Mask, 1, H>(src, i);
    if constexpr (F::arity > 2 && (Mask & 4) == 0) z = half_operand<Mask, 2, H>(src, i);
    if constexpr (factor_above_zero<F> != 0) {
      if (all_positive(x)) {
        store_result(out + i, x * float(factor_above_zero<F>));
        continue;
      }
    }
    store_result(out + i, F::template apply<float, WideHalves, WideHalves>(x, y, z, vp, vq, vr));
  }
  if (i == n) return;
  H rest[3][kWideHalves] = {};
  const void* places[3] = {};
  for (int k = 0; k < F::arity; ++k) {
    places[k] = src[k];
    if ((Mask >> k) & 1) continue;
    __builtin_memcpy(rest[k], static_cast<const H*>(src[k]) + i, size_t(n - i) * sizeof(H));
    places[k] = rest[k];
  }
  R made[kWideHalves];
  half_vectors_loop<F, H, Mask>(places, made, kWideHalves, params);
  __builtin_memcpy(out + i, made, size_t(n - i) * sizeof(R));
}
#else
template <typename F, typename H, unsigned Mask>
void half_vectors_loop(const void* const*, void*, int64_t, const Scalar*);
#endif
