// Casts between element types without undefined behaviour: out-of-range floats wrap or saturate as the hardware does.
#pragma once
#include <cfenv>
#include <cstdint>
#include <type_traits>

#include "tensor/dtype_dispatch.h"

namespace md {

// Floats become numbers up to the end of these; those of narrower unsigned types, up to the end of int32_t.
template <typename T>
constexpr bool is_wide_unsigned = std::is_unsigned_v<T> && sizeof(T) >= sizeof(int32_t);

template <typename To, typename From>
inline To numeric_cast(From value) {
  if constexpr (std::is_same_v<To, From>) {
    return value;
  } else if constexpr (is_complex_type<To> && is_complex_type<From>) {
    return To{numeric_cast<decltype(To::re)>(value.re), numeric_cast<decltype(To::re)>(value.im)};
  } else if constexpr (is_complex_type<To>) {
    return To{numeric_cast<decltype(To::re)>(value), 0};
  } else if constexpr (is_complex_type<From> && std::is_same_v<To, bool>) {
    return value.re != 0 || value.im != 0;
  } else if constexpr (is_complex_type<From>) {
    return numeric_cast<To>(value.re);
  } else if constexpr (std::is_same_v<From, Half> || std::is_same_v<From, BFloat16>) {
    return numeric_cast<To>(value.to_float());
  } else if constexpr (std::is_same_v<To, Half> || std::is_same_v<To, BFloat16>) {
    return To::from_float(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, bool>) {
    return value != From(0);
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    // The result of cvttsd2si: INT64_MIN for NaN and out-of-range values; narrower types take the low bits. As the
    // processor's conversions to unsigned numbers: negative ones wrap around, from 2^63 on it is applied to the rest.
    constexpr bool kIsWide = sizeof(To) == sizeof(int64_t);
    constexpr From kStart = kIsWide ? From(-0x1p63) : From(-0x1p31);
    constexpr From kEnd = (kIsWide ? From(0x1p63) : From(0x1p31)) * (is_wide_unsigned<To> ? 2 : 1);
    if (!(value >= kStart && value < kEnd)) std::feraiseexcept(FE_INVALID);  // as the processor's conversion
    bool is_upper = kIsWide && is_wide_unsigned<To> && value >= From(0x1p63);
    From rest = is_upper ? value - From(0x1p63) : value;
    bool fits = rest >= From(-0x1p63) && rest < From(0x1p63);
    int64_t whole = fits ? static_cast<int64_t>(rest) : INT64_MIN;
    return static_cast<To>(is_upper ? whole ^ INT64_MIN : whole);
  } else {
    return static_cast<To>(value);
  }
}

// The type compared by the hardware: float for the half types.
template <typename T>
inline auto comparable(T value) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    return value.to_float();
  } else {
    return value;
  }
}

template <typename To>
inline To convert_element(DType dtype, const void* src) {
  return with_any_type(dtype, [&]<typename T>() { return numeric_cast<To>(*static_cast<const T*>(src)); });
}

}  // namespace md
