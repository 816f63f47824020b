#include "tensor/fill.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "tensor/dtype_dispatch.h"
#include "tensor/numeric_cast.h"

namespace md {
namespace {

template <typename T>
bool fits_type(const Scalar& value) {
  using Limits = std::numeric_limits<T>;
  if (value.is_float()) {
    double number = value.as_double();
    if (std::is_floating_point_v<T> && !std::isfinite(number)) return true;
    return number >= static_cast<double>(Limits::lowest()) && number <= static_cast<double>(Limits::max());
  }
  if (value.is_large()) return std::is_floating_point_v<T> || std::is_same_v<T, uint64_t>;
  if constexpr (std::is_floating_point_v<T> || sizeof(T) == sizeof(int64_t)) return true;
  int64_t least = std::is_signed_v<T> ? static_cast<int64_t>(Limits::min()) : -static_cast<int64_t>(Limits::max());
  return value.as_int() >= least && value.as_int() <= static_cast<int64_t>(Limits::max());
}
template <>
bool fits_type<bool>(const Scalar&) {
  return true;
}
// The largest finite numbers of the half types.
bool fits_half(const Scalar& value, double largest) {
  double number = value.as_double();
  return !std::isfinite(number) || std::abs(number) <= largest;
}
template <>
bool fits_type<Half>(const Scalar& value) {
  return fits_half(value, 65504.0);
}
template <>
bool fits_type<BFloat16>(const Scalar& value) {
  return fits_half(value, 0x1.fep127);
}

}  // namespace

bool fits(DType dtype, const Scalar& value) {
  dtype = part_dtype(dtype);
  return with_type(dtype, [&]<typename T>() { return fits_type<T>(value); });
}

void store_scalar(DType dtype, const Scalar& value, void* dst) {
  with_any_type(dtype, [&]<typename T>() {
    T& element = *static_cast<T*>(dst);
    if (value.is_float()) {
      element = numeric_cast<T>(value.as_double());
    } else if (value.is_large()) {
      element = numeric_cast<T>(static_cast<uint64_t>(value.as_int()));
    } else {
      element = numeric_cast<T>(value.as_int());
    }
  });
}

Scalar load_scalar(DType dtype, const void* src) {
  switch (row(dtype).category) {
    case DTypeCategory::Bool:
      return Scalar(*static_cast<const bool*>(src));
    case DTypeCategory::Integer:
      if (is_unsigned(dtype)) return Scalar::natural(convert_element<uint64_t>(dtype, src));
      return Scalar(convert_element<int64_t>(dtype, src));
    case DTypeCategory::Floating:
      break;
    case DTypeCategory::Complex:
      raise(ErrorKind::Internal, "a complex number is no Scalar");
  }
  return Scalar(convert_element<double>(dtype, src));
}

}  // namespace md
