// Rows of float32 as bytes, and sums of products of such bytes as float32.

void bytes_run(const float* src, int64_t n, float inverse, int32_t zero, uint8_t* dst) {
  // Added to a number of less than 2^22 it leaves the nearest integer in the lowest bits.
  constexpr float kRounder = 12582912;
  constexpr int32_t kRounderBits = 0x4b400000;
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    int32_t whole = __builtin_bit_cast(int32_t, src[i] * inverse + kRounder) - kRounderBits + zero;
    whole = whole < 0 ? 0 : whole;
    dst[i] = uint8_t(whole > UINT8_MAX ? UINT8_MAX : whole);
  }
}

template <bool HasBias>
inline __attribute__((always_inline)) void sums_run(const ByteSums& sums, const int32_t* src, float* dst) {
#pragma GCC ivdep
  for (int64_t j = 0; j < sums.n; ++j) {
    float value = float(src[j] - sums.zero * sums.column_sums[j]) * sums.column_steps[j] * sums.step;
    dst[j] = HasBias ? value + sums.bias[j] : value;
  }
}

void floats_of_sums_run(const ByteSums& sums, const int32_t* src, float* dst) {
  sums.bias == nullptr ? sums_run<false>(sums, src, dst) : sums_run<true>(sums, src, dst);
}
