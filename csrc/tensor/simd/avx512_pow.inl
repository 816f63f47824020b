// pow with 64-byte vectors. The logarithm of double is a double-double throughout: its relative error is below 2^-64,
// since a power may multiply it by up to 1024. Results are within 0.7 ulp, those of float within 0.55.

// Sixteen cells of [0.699, 1.398), the range of m after splitting x = m 2^k. About 1 / m in each: m * kInverse is
// within 0.03 of one, and is m itself around one, so that log x keeps its precision there.
alignas(64) constexpr double kInverse[16] = {
    0x1.661ec6a5122f9p+0, 0x1.571ed3c506b3ap+0, 0x1.49539e3b2d067p+0, 0x1.3c995a47babe7p+0,
    0x1.30d190130d190p+0, 0x1.25e22708092f1p+0, 0x1.1bb4a4046ed29p+0, 0x1.12358e75d3033p+0,
    0x1.0953f39010954p+0, 0x1.0000000000000p+0, 0x1.e573ac901e574p-1, 0x1.ca4b3055ee191p-1,
    0x1.b2036406c80d9p-1, 0x1.9c2d14ee4a102p-1, 0x1.886e5f0abb04ap-1, 0x1.767dce434a9b1p-1,
};
// -log2(kInverse), and -log(kInverse) in two parts, the first with few enough bits to be added to k ln 2 exactly.
alignas(64) constexpr double kLog2OfCell[16] = {
    -0x1.efec61b011f85p-2, -0x1.b0b67f4f46812p-2, -0x1.7418acebbf18fp-2, -0x1.39de8e1559f6ep-2, -0x1.01d9bbcfa61d4p-2,
    -0x1.97c1cb13c7ec0p-3, -0x1.2f9e32d5bfdd1p-3, -0x1.960caf9abb7c1p-4, -0x1.a6f9c377dd31dp-5, 0x0.0p+0,
    0x1.3aa2fdd27f1bfp-4,  0x1.476a9f983f74dp-3,  0x1.e840be74e6a4dp-3,  0x1.406463b1b0448p-2,  0x1.88e9c72e0b224p-2,
    0x1.ce0a4923a587dp-2,
};
alignas(64) constexpr double kLogOfCell[16] = {
    -0x1.57bf753c8d000p-2, -0x1.2bef07cdc9000p-2, -0x1.01eae5626c000p-2, -0x1.b31d8575bc000p-3, -0x1.6574ebe8c2000p-3,
    -0x1.1aa2b7e240000p-3, -0x1.a4e7640b1c000p-4, -0x1.1973bd1464000p-4, -0x1.252f32f8d0000p-5, 0x0.0p+0,
    0x1.b42dd71198000p-5,  0x1.c5e548f5bc000p-4,  0x1.526e5e3a1c000p-3,  0x1.bc286742d8000p-3,  0x1.1058bf9ae5000p-2,
    0x1.404308686a000p-2,
};
alignas(64) constexpr double kLogOfCellLow[16] = {
    -0x1.fadadee5d40efp-46, -0x1.aa5ba4a5004f4p-45,
    -0x1.a44ecfade85aep-44, -0x1.c75de562a63cbp-44,
    0x1.98d1d34f0f462p-44,  0x1.1ad48dde3b366p-44,
    0x1.e4336b94407c8p-47,  -0x1.560a154f930b3p-44,
    -0x1.8401ae021b67bp-45, 0x0.0p+0,
    -0x1.c8d7ae5d6704cp-46, 0x1.d0c97585fbe06p-46,
    -0x1.790aa37fc5238p-44, 0x1.9a873f39d121cp-44,
    -0x1.4affd817d52cdp-44, 0x1.f8f043049f7d3p-44,
};
// The bits of 2^(i / 16), minus i << 48: adding n << 48 for n = 16 e + i yields 2^(n / 16). And their relative errors.
alignas(64) constexpr uint64_t kRootsOfTwo[16] = {
    0x3ff0000000000000, 0x3fefb5586cf9890f, 0x3fef72b83c7d517b, 0x3fef387a6e756238,
    0x3fef06fe0a31b715, 0x3feedea64c123422, 0x3feebfdad5362a27, 0x3feeab07dd485429,
    0x3feea09e667f3bcd, 0x3feea11473eb0187, 0x3feeace5422aa0db, 0x3feec49182a3f090,
    0x3feee89f995ad3ad, 0x3fef199bdd85529c, 0x3fef5818dcfba487, 0x3fefa4afa2a490da,
};
alignas(64) constexpr double kRootsOfTwoRest[16] = {
    0x0.0p+0,
    0x1.79aa65d837b6dp-54,
    -0x1.01b15eaa59348p-55,
    0x1.68efde3a8a894p-54,
    0x1.34d754db0abb6p-55,
    0x1.59f48a72a4c6dp-55,
    0x1.690cebb7aafb0p-56,
    0x1.063e1e21c5409p-54,
    -0x1.3b3efbf5e2228p-54,
    -0x1.b32dcb94da51dp-56,
    0x1.db72fc1f0eab4p-55,
    0x1.1affc2b91ce27p-56,
    0x1.c1a7792cb3387p-55,
    0x1.36eae30af0cb3p-56,
    0x1.4a385a63d07a7p-56,
    -0x1.ff7128fd391f0p-55,
};
// Interpolations at Chebyshev's nodes: log2(1 + r) / r, (2^r - 1) / r, (log(1 + r) - r + r^2 / 2) / r^3, (exp(r) - 1 -
// r) / r^2.
constexpr double kLog2Series[6] = {0x1.71547652bcfbdp+0,  -0x1.71547652c094dp-1, 0x1.ec7097c30e6cbp-2,
                                   -0x1.715471122ee34p-2, 0x1.27bdf8d71e62dp-2,  -0x1.eced39152f468p-3};
constexpr double kExp2Series[3] = {0x1.62e42fefa39efp-1, 0x1.ebff917b28217p-3, 0x1.c6b299bd67a41p-5};
constexpr double kLogSeries[9] = {0x1.5555555555555p-2,  -0x1.fffffffffffc1p-3, 0x1.9999999999960p-3,
                                  -0x1.555555563e34bp-3, 0x1.24924925693fbp-3,  -0x1.ffffe2dccdcf6p-4,
                                  0x1.c71c56e195f5cp-4,  -0x1.9a46666e40ebdp-4, 0x1.74fc99c85f1bap-4};
constexpr double kExpSeries[6] = {0x1.0000000000001p-1, 0x1.5555555555556p-3,  0x1.55555554e4e34p-5,
                                  0x1.11111110df174p-7, 0x1.6c17f353d3ca1p-10, 0x1.a01b118a75c35p-13};
// ln 2 and ln 2 / 16, the first parts with few enough bits for exact products with integers.
constexpr double kPowLn2High = 0x1.62e42fefa3800p-1, kPowLn2Low = 0x1.ef35793c76730p-45;
constexpr double kSixteenth = 0x1.62e42fefa0000p-5, kSixteenthLow = 0x1.cf79abc9e3b3ap-44,
                 kSixteenths = 0x1.71547652b82fep+4;

using Doubles = __m512d;
typedef uint64_t Words __attribute__((vector_size(64)));  // arithmetic on bits wraps around
inline Doubles all(double value) { return _mm512_set1_pd(value); }
inline Doubles fma(Doubles a, Doubles b, Doubles c) { return _mm512_fmadd_pd(a, b, c); }
inline Doubles widened(const float* eight) {
  return _mm512_maskz_cvtps_pd(__mmask8(-1), _mm256_loadu_ps(eight));  // one instruction, from memory
}
inline Doubles looked_up(const double* table, __m512i index) {
  return __builtin_shuffle(_mm512_load_pd(table), _mm512_load_pd(table + 8), index);
}

// x = m 2^k; only the lowest four bits of `cell` count.
struct PartsOfDoubles {
  Doubles m, k;
  __m512i cell;
};
inline PartsOfDoubles parts_of_doubles(Doubles x) {
  Words bits = __builtin_bit_cast(Words, x);
  Words shifted = bits - 0x3fe6600000000000;
  Words exponent = shifted & 0xfff0000000000000;
  __m512i k = __builtin_bit_cast(__m512i, shifted) >> 52;
  return {__builtin_bit_cast(Doubles, bits - exponent), __builtin_convertvector(k, Doubles),
          __builtin_bit_cast(__m512i, shifted >> 48)};
}

// 2^(n / 16) of n + 0x1.8p52.
inline Doubles root_of_two(Doubles shifted) {
  __m512i n = __builtin_bit_cast(__m512i, shifted);
  __m512i root = __builtin_shuffle(_mm512_load_si512(kRootsOfTwo), _mm512_load_si512(kRootsOfTwo + 8), n);
  return __builtin_bit_cast(Doubles, __builtin_bit_cast(Words, root) + (__builtin_bit_cast(Words, n) << 48));
}

// Eight of |base| ^ exponent; near: the result is in double's range.
inline __m256 pow_of_8_floats(const float* base, const float* exponent, uint16_t& near) {
  PartsOfDoubles x = parts_of_doubles(_mm512_abs_pd(widened(base)));
  Doubles y = widened(exponent);
  Doubles r = _mm512_fmsub_pd(x.m, looked_up(kInverse, x.cell), all(1));
  Doubles r2 = r * r;
  Doubles first = fma(r, all(kLog2Series[0]), x.k + looked_up(kLog2OfCell, x.cell));
  Doubles low = fma(all(kLog2Series[2]), r, all(kLog2Series[1]));
  Doubles high = fma(r2, all(kLog2Series[5]), fma(all(kLog2Series[4]), r, all(kLog2Series[3])));
  Doubles log2 = fma(high, r2 * r2, fma(low, r2, first));
  Doubles e = y * log2;
  near = _mm512_cmp_pd_mask(_mm512_abs_pd(e), all(1000), _CMP_LT_OQ);
  Doubles n = fma(y * all(16), log2, all(0x1.8p52));
  Doubles rest = fma(n - all(0x1.8p52), all(-1.0 / 16), e);
  Doubles curve = fma(all(kExp2Series[2]), rest, all(kExp2Series[1]));
  Doubles grown = fma(rest * rest, curve, fma(rest, all(kExp2Series[0]), all(1)));
  return __builtin_convertvector(root_of_two(n) * grown, __m256);
}

constexpr int kClassNaN = 0x81, kClassZero = 0x06, kClassInfinite = 0x18, kClassSubnormal = 0x20, kClassNegative = 0x40;
constexpr int kTruncate = 0x0b;  // of roundscale: to integers, without an exception

template <>
struct Avx512Path<Function_pow, float> {
  static constexpr bool exists = true;
  static constexpr int lanes = 16;

  // Returns one bit per lane that holds.
  static unsigned run(const float* base, const float* exponent, float* out) {
    uint16_t near_low, near_high;
    __m256 low = pow_of_8_floats(base, exponent, near_low);
    __m256 high = pow_of_8_floats(base + 8, exponent + 8, near_high);
    unsigned special =
        _mm512_fpclass_ps_mask(_mm512_loadu_ps(base), kClassNaN | kClassZero | kClassInfinite | kClassNegative);
    unsigned negative = special == 0 ? 0 : _mm512_fpclass_ps_mask(_mm512_loadu_ps(base), kClassNegative);
    __m512 y = _mm512_loadu_ps(exponent);
    _mm256_storeu_ps(out, low);
    _mm256_storeu_ps(out + 8, high);
    if (negative != 0) negative &= ~sign(y, __mmask16(negative), out);
    return (near_low | unsigned(near_high) << 8) & (negative | ~special);
  }

 private:
  // A negative base has real powers for integer exponents, with its sign for odd ones. Returns the lanes without one,
  // which do not hold: their exception is seen where they are computed one by one.
  static unsigned sign(__m512 y, __mmask16 negative, float* out) {
    __m512 half = y * _mm512_set1_ps(0.5f);
    __m512 whole = _mm512_maskz_roundscale_ps(__mmask16(-1), y, kTruncate);
    __m512 whole_half = _mm512_maskz_roundscale_ps(__mmask16(-1), half, kTruncate);
    __mmask16 broken = negative & _mm512_cmp_ps_mask(whole, y, _CMP_NEQ_UQ);
    __mmask16 odd = negative & _mm512_cmp_ps_mask(whole_half, half, _CMP_NEQ_UQ);
    __m512 result = _mm512_loadu_ps(out);
    _mm512_storeu_ps(out, _mm512_mask_sub_ps(result, odd, _mm512_set1_ps(-0.0f), result));
    return broken;
  }
};

template <>
struct Avx512Path<Function_pow, double> {
  static constexpr bool exists = true;
  static constexpr int lanes = 8;

  static unsigned run(const double* base, const double* exponent, double* out) {
    Doubles a = _mm512_loadu_pd(base), y = _mm512_loadu_pd(exponent);
    Logarithm log = log_of_size(a);
    Doubles e = y * log.high;
    Doubles e_low = fma(y, log.low, _mm512_fmsub_pd(y, log.high, e));
    _mm512_storeu_pd(out, exp_of_sum(e, e_low));
    unsigned special =
        _mm512_fpclass_pd_mask(a, kClassNaN | kClassZero | kClassInfinite | kClassSubnormal | kClassNegative);
    unsigned near = _mm512_cmp_pd_mask(_mm512_abs_pd(e), all(707), _CMP_LT_OQ);
    if (special == 0) return near;
    unsigned negative = _mm512_fpclass_pd_mask(a, kClassNegative);
    negative &= ~unsigned(_mm512_cmp_pd_mask(_mm512_abs_pd(a), all(0x1p-1022), _CMP_LT_OQ));
    if (negative != 0) negative &= ~sign(y, __mmask8(negative), out);
    return near & (negative | ~special);
  }

 private:
  struct Logarithm {
    Doubles high, low;
  };

  // Of |a|, which is normal where the result is used.
  static Logarithm log_of_size(Doubles a) {
    PartsOfDoubles x = parts_of_doubles(_mm512_abs_pd(a));
    Doubles inverse = looked_up(kInverse, x.cell);
    Doubles product = x.m * inverse;
    Doubles r = product - all(1);  // exact, and the product's error:
    Doubles r_low = _mm512_fmsub_pd(x.m, inverse, product);
    Doubles cell = fma(x.k, all(kPowLn2High), looked_up(kLogOfCell, x.cell));  // exact; zero or larger than r
    Doubles cell_low = fma(x.k, all(kPowLn2Low), looked_up(kLogOfCellLow, x.cell));
    Doubles first = cell + r;
    Doubles first_low = cell - first + r;
    Doubles minus_half = r * all(-0.5);
    Doubles square = r * minus_half;
    Doubles square_low = _mm512_fmsub_pd(r, minus_half, square);
    Doubles second = first + square;
    Doubles second_low = first - second + square;
    Doubles r2 = r * r, r4 = r2 * r2;
    Doubles c01 = fma(all(kLogSeries[1]), r, all(kLogSeries[0]));
    Doubles c23 = fma(all(kLogSeries[3]), r, all(kLogSeries[2]));
    Doubles c45 = fma(all(kLogSeries[5]), r, all(kLogSeries[4]));
    Doubles c67 = fma(all(kLogSeries[7]), r, all(kLogSeries[6]));
    Doubles c03 = fma(c23, r2, c01);
    Doubles c48 = fma(fma(all(kLogSeries[8]), r2, c67), r2, c45);
    Doubles series = fma(c48, r4, c03) * (r2 * r);
    Doubles shift = fma(r_low, r2 - r, r_low);  // r_low / (1 + r)
    Doubles rest = (first_low + second_low) + (square_low + cell_low) + shift + series;
    Doubles high = second + rest;
    return {high, second - high + rest};
  }

  static Doubles exp_of_sum(Doubles e, Doubles e_low) {
    Doubles shifted = fma(e, all(kSixteenths), all(0x1.8p52));
    Doubles n = shifted - all(0x1.8p52);
    Doubles w = _mm512_fnmadd_pd(n, all(kSixteenthLow), _mm512_fnmadd_pd(n, all(kSixteenth), e)) + e_low;
    Doubles w2 = w * w;
    Doubles c01 = fma(all(kExpSeries[1]), w, all(kExpSeries[0]));
    Doubles c23 = fma(all(kExpSeries[3]), w, all(kExpSeries[2]));
    Doubles c45 = fma(all(kExpSeries[5]), w, all(kExpSeries[4]));
    Doubles grown = fma(fma(fma(c45, w2, c23), w2, c01), w2, w);
    Doubles scale = root_of_two(shifted);
    return fma(scale, grown + looked_up(kRootsOfTwoRest, _mm512_castpd_si512(shifted)), scale);
  }

  static unsigned sign(Doubles y, __mmask8 negative, double* out) {
    Doubles half = y * all(0.5);
    Doubles whole = _mm512_maskz_roundscale_pd(__mmask8(-1), y, kTruncate);
    Doubles whole_half = _mm512_maskz_roundscale_pd(__mmask8(-1), half, kTruncate);
    __mmask8 broken = negative & _mm512_cmp_pd_mask(whole, y, _CMP_NEQ_UQ);
    __mmask8 odd = negative & _mm512_cmp_pd_mask(whole_half, half, _CMP_NEQ_UQ);
    Doubles result = _mm512_loadu_pd(out);
    _mm512_storeu_pd(out, _mm512_mask_sub_pd(result, odd, all(-0.0), result));
    return broken;
  }
};
