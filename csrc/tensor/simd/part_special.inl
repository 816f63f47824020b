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

bool has_negative(const double* src, int64_t n) {
  int64_t count = 0;
  for (int64_t i = 0; i < n; ++i) count += src[i] < 0;
  return count > 0;
}

// Negative numbers, which take twice as long, are rare.
void any_lgamma_run(const double* src, double* dst, int64_t n) {
  if (has_negative(src, n)) return lgamma_run(src, dst, n);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) dst[i] = upper_lgamma(src[i], kNearTwo, kStirling);
}
void short_lgamma_run(const double* src, double* dst, int64_t n) {
  constexpr double kFew[] = {kStirling[0], kStirling[1], kStirling[2], kStirling[3]};
  if (has_negative(src, n)) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) dst[i] = any_lgamma(src[i], kShortNearTwo, kFew);
    return;
  }
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) dst[i] = upper_lgamma(src[i], kShortNearTwo, kFew);
}
void float_erfinv_run(const float* src, float* dst, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) dst[i] = float_erfinv(src[i]);
}

constexpr SpecialTable made_table() {
  SpecialTable table = {{
#define MD_SPECIAL(name) name##_run,
#include "tensor/simd/special_functions.def"
#undef MD_SPECIAL
                        },
                        {},
                        {}};
  for (int i = 0; i < kSpecialCount; ++i) table.short_loops[i] = table.loops[i];
  table.loops[int(Special::lgamma)] = any_lgamma_run;
  table.short_loops[int(Special::lgamma)] = short_lgamma_run;
  table.float_loops[int(Special::erfinv)] = float_erfinv_run;
  return table;
}

}  // namespace

const constinit SpecialTable specials = made_table();

}  // namespace md::MD_LEVEL
