// A level's loops of special functions.
namespace md::MD_LEVEL {
namespace {

#include "tensor/simd/half_vectors.inl"
#include "tensor/simd/vectors.inl"

#include "tensor/simd/pointwise_functions.inl"

#include "tensor/simd/special_functions.inl"

#define MD_SPECIAL(name)                                                                  \
  void name##_run(const double* src, double* dst, int64_t n) {                            \
    _Pragma("GCC ivdep") for (int64_t i = 0; i < n; ++i) dst[i] = special_##name(src[i]); \
  }
#include "tensor/simd/special_functions.def"
#undef MD_SPECIAL

}  // namespace

const constinit SpecialTable specials = {{
#define MD_SPECIAL(name) name##_run,
#include "tensor/simd/special_functions.def"
#undef MD_SPECIAL
}};

}  // namespace md::MD_LEVEL
