// Casts between element types without undefined behaviour: out-of-range floats wrap or saturate as the hardware does.
#pragma once
#include <cfenv>
#include <cstdint>
#include <type_traits>

#include "tensor/dtype_dispatch.h"

namespace md {

template <typename To, typename From>
inline To numeric_cast(From value) {
  if constexpr (std::is_same_v<To, From>) {
    return value;
  } else if constexpr (std::is_same_v<From, Half> || std::is_same_v<From, BFloat16>) {
    return numeric_cast<To>(value.to_float());
  } else if constexpr (std::is_same_v<To, Half> || std::is_same_v<To, BFloat16>) {
    return To::from_float(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, bool>) {
    return value != From(0);
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    // The result of cvttsd2si: INT64_MIN for NaN and out-of-range values; narrower types take the low bits.
    constexpr From kEnd = sizeof(To) < sizeof(int64_t) ? From(0x1p31) : From(0x1p63);
    if (!(value >= -kEnd && value < kEnd)) std::feraiseexcept(FE_INVALID);  // as the processor's conversion
    bool fits = value >= From(-0x1p63) && value < From(0x1p63);
    return static_cast<To>(fits ? static_cast<int64_t>(value) : INT64_MIN);
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
  return with_type(dtype, [&]<typename T>() { return numeric_cast<To>(*static_cast<const T*>(src)); });
}

}  // namespace md
