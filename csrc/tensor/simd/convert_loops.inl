// Conversions between all pairs of dtypes. Half precision goes through float, branch-free so that it vectorises.

template <typename To, typename From>
inline To word_cast(From from) {
  static_assert(sizeof(To) == sizeof(From));
  return __builtin_bit_cast(To, from);
}

inline float widen(Half value) {
  uint32_t magnitude = uint32_t(value.bits & 0x7fff) << 13;
  uint32_t sign = uint32_t(value.bits & 0x8000) << 16;
  // Normal numbers are rebiased; below 2^-14 subtracting the implicit bit normalises.
  uint32_t normal = magnitude + 0x38000000;
  uint32_t subnormal = word_cast<uint32_t>(word_cast<float>(magnitude + 0x38800000) - word_cast<float>(0x38800000u));
  uint32_t special = magnitude | (magnitude > 0x0f800000 ? 0x7fc00000 : 0x7f800000);
  uint32_t bits = magnitude >= 0x0f800000 ? special : magnitude < 0x00800000 ? subnormal : normal;
  return word_cast<float>(sign | bits);
}
inline float widen(BFloat16 value) { return word_cast<float>(uint32_t(value.bits) << 16); }

inline void narrow(float value, Half& to) {
  uint32_t bits = word_cast<uint32_t>(value);
  uint32_t sign = (bits >> 16) & 0x8000;
  uint32_t magnitude = bits & 0x7fffffff;
  uint32_t normal = (magnitude - 0x38000000 + 0xfff + ((magnitude >> 13) & 1)) >> 13;
  // Adding 0.5 aligns a number below 2^-14 so that its last kept bit is the last bit of the sum, which rounds it.
  uint32_t subnormal = word_cast<uint32_t>(word_cast<float>(magnitude) + 0.5f) - 0x3f000000;
  uint32_t result = magnitude < 0x38800000 ? subnormal : normal;
  result = magnitude >= 0x477ff000 ? 0x7c00 : result;
  result = magnitude > 0x7f800000 ? 0x7e00 | ((magnitude >> 13) & 0x3ff) : result;
  to.bits = uint16_t(sign | result);
}
inline void narrow(float value, BFloat16& to) {
  uint32_t bits = word_cast<uint32_t>(value);
  uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  to.bits = uint16_t((bits & 0x7fffffff) > 0x7f800000 ? (bits >> 16) | 0x40 : rounded);
}

template <typename T>
constexpr bool is_half = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

template <typename To, typename From>
inline To convert_one(From value) {
  if constexpr (std::is_same_v<To, From>) {
    return value;
  } else if constexpr (is_half<From>) {
    return convert_one<To>(widen(value));
  } else if constexpr (is_half<To>) {
    To result;
    narrow(float(value), result);
    return result;
  } else if constexpr (std::is_same_v<To, bool>) {
    return value != From(0);
  } else if constexpr (std::is_floating_point_v<From> && !std::is_floating_point_v<To>) {
    // As numeric_cast. The exception of 0 * inf is that of the processor's conversion, which programs may see.
    constexpr bool kIsWide = sizeof(To) == sizeof(int64_t);
    constexpr bool kIsWideUnsigned = std::is_unsigned_v<To> && sizeof(To) >= sizeof(int32_t);
    constexpr From kStart = kIsWide ? From(-0x1p63) : From(-0x1p31);
    constexpr From kEnd = (kIsWide ? From(0x1p63) : From(0x1p31)) * From(kIsWideUnsigned ? 2 : 1);
    bool is_plain = (value >= kStart) & (value < kEnd);
    From seen = From(is_plain) * From(__builtin_inf());
    bool is_upper = kIsWide && kIsWideUnsigned && value >= From(0x1p63);
    From rest = is_upper ? value - From(0x1p63) : value;
    bool fits = (rest >= From(-0x1p63)) & (rest < From(0x1p63)) & (seen != From(0));
    int64_t whole = int64_t(fits ? rest : From(-0x1p63));
    return To(is_upper ? whole ^ INT64_MIN : whole);
  } else {
    return To(value);
  }
}

template <typename From, typename To>
void convert_loop(const void* src, void* dst, int64_t n);

// By tiles of floats.
template <typename From, typename To>
inline void convert_through_floats(const From* from, To* to, int64_t n) {
  constexpr int64_t kTile = 512;
  alignas(64) float tile[kTile];
  for (int64_t at = 0; at < n; at += kTile) {
    int64_t count = n - at < kTile ? n - at : kTile;
    convert_loop<From, float>(from + at, tile, count);
    convert_loop<float, To>(tile, to + at, count);
  }
}

// Floats to integers, by tiles: where all are in the range of the processor's conversion, by that alone.
template <typename From, typename To>
inline void truncate_run(const From* from, To* to, int64_t n) {
  using Whole = std::conditional_t<sizeof(To) == sizeof(int64_t), int64_t, int32_t>;
  constexpr From kLimit = sizeof(To) == sizeof(int64_t) ? From(0x1p63) : From(0x1p31);
  constexpr int64_t kTile = 256;
  for (int64_t at = 0; at < n; at += kTile) {
    int64_t end = n - at < kTile ? n : at + kTile;
    unsigned beyond = 0;
    for (int64_t i = at; i < end; ++i) beyond |= unsigned(!((from[i] >= -kLimit) & (from[i] < kLimit)));
    if (beyond == 0) {
#pragma GCC ivdep
      for (int64_t i = at; i < end; ++i) to[i] = To(Whole(from[i]));
    } else {
      for (int64_t i = at; i < end; ++i) to[i] = convert_one<To>(from[i]);
    }
  }
}

template <typename From, typename To>
void convert_loop(const void* src, void* dst, int64_t n) {
  const From* from = static_cast<const From*>(src);
  To* to = static_cast<To*>(dst);
  if constexpr (std::is_same_v<From, To>) {
    __builtin_memmove(dst, src, size_t(n) * sizeof(To));
#if MD_LEVEL_BYTES >= 32
  } else if constexpr (is_half<From> && std::is_same_v<To, float>) {
    widen_run(from, to, n);
  } else if constexpr (is_half<To> && std::is_same_v<From, float>) {
    narrow_run(from, to, n);
  } else if constexpr (is_half<From> || is_half<To>) {
    convert_through_floats(from, to, n);
#endif
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To> && !std::is_same_v<To, bool>) {
    truncate_run(from, to, n);
  } else {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) to[i] = convert_one<To>(from[i]);
  }
}
