// Element types, from dtypes.def.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace md {

// IEEE binary16 and bfloat16 storage; arithmetic happens in float.
struct Half {
  uint16_t bits;
  static Half from_float(float value);
  float to_float() const;
};
struct BFloat16 {
  uint16_t bits;
  static BFloat16 from_float(float value);
  float to_float() const { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }
};

// Two floats, the real part first, as C lays it out.
template <typename Part>
struct Complex {
  Part re, im;
  friend bool operator==(const Complex&, const Complex&) = default;
};
template <typename T>
inline constexpr bool is_complex_type = false;
template <typename Part>
inline constexpr bool is_complex_type<Complex<Part>> = true;

enum class DType : uint8_t {
#define MD_DTYPE(name, ...) name,
#include "tensor/dtypes.def"
#undef MD_DTYPE
};

enum class DTypeCategory : uint8_t { Bool, Integer, Floating, Complex };
// The numbers are DLPack's.
enum class DLPackKind : uint8_t { Int = 0, UInt = 1, Float = 2, BFloat = 4, Complex = 5, Bool = 6 };

// nullptr if the other side has no such dtype.
struct DTypeNames {
  DLPackKind dlpack;
  const char* buffer;  // struct's letter in the buffer protocol
  const char* numpy;
  const char* torch;  // "FloatTensor", after "torch."
  const char* safetensors;
};

struct DTypeRow {
  const char* name;        // "float32", printed as minidynamo.float32
  const char* short_name;  // "f32", in graph_code
  const char* type_name;   // "float", in C++
  DTypeCategory category;
  uint8_t size;  // bytes
  bool is_signed;
  uint8_t digits;         // all integers of this many bits are representable
  uint8_t exponent_bits;  // 0 for integers
  DType accumulator;      // the dtype that kernels compute in
  DTypeNames names;
};

inline constexpr DTypeRow kDTypes[] = {
#define MD_DTYPE(name, ctype, category, short_name, python_name, is_signed, digits, exponent, accumulator, ...) \
  {python_name, short_name, #ctype,   DTypeCategory::category, sizeof(ctype),                                   \
   is_signed,   digits,     exponent, DType::accumulator,      __VA_ARGS__},
#include "tensor/dtypes.def"
#undef MD_DTYPE
};
inline constexpr int kDTypeCount = sizeof(kDTypes) / sizeof(kDTypes[0]);

inline const DTypeRow& row(DType dtype) { return kDTypes[static_cast<int>(dtype)]; }
inline size_t item_size(DType dtype) { return row(dtype).size; }
inline bool is_floating(DType dtype) { return row(dtype).category == DTypeCategory::Floating; }
inline bool is_complex(DType dtype) { return row(dtype).category == DTypeCategory::Complex; }
// Floats and complex numbers: what rounds, and what has a NaN.
inline bool is_inexact(DType dtype) { return is_floating(dtype) || is_complex(dtype); }
// An offset in elements of `from`, in elements of `to`, of which it is a multiple.
inline int64_t offset_in(DType to, int64_t offset, DType from) {
  return offset * int64_t{row(from).size} / int64_t{row(to).size};
}
// The floats of complex numbers; another dtype itself.
inline DType part_dtype(DType dtype) {
  return !is_complex(dtype) ? dtype : row(dtype).digits == 24 ? DType::float32 : DType::float64;
}
// The complex numbers whose parts hold what this dtype of floats holds.
inline DType complex_dtype(DType part) { return part == DType::float64 ? DType::complex128 : DType::complex64; }
// 16-bit floats, which kernels compute in a wider dtype.
inline bool is_half(DType dtype) { return row(dtype).accumulator != dtype; }
// Whether every value of `from` is representable in `to`, so that a further cast has the same result.
bool is_widening(DType from, DType to);
inline bool is_unsigned(DType dtype) { return row(dtype).category == DTypeCategory::Integer && !row(dtype).is_signed; }
// Among int64_t, all integers from 0 to this one are representable.
inline int64_t largest_exact(DType dtype) {
  if (row(dtype).digits >= 63) return INT64_MAX;
  uint64_t end = uint64_t{1} << row(dtype).digits;
  return static_cast<int64_t>(is_floating(dtype) ? end : end - 1);
}

// The type whose code computes the same bits where the result does not depend on the sign of its operands, as in moves
// and sums that wrap around: for integers the signed one.
template <typename T, bool IsInteger = std::is_integral_v<T> && !std::is_same_v<T, bool>>
struct WrappingOf {
  using type = T;
};
template <typename T>
struct WrappingOf<T, true> {
  using type = std::make_signed_t<T>;
};
template <typename T>
using Wrapping = WrappingOf<T>::type;

}  // namespace md
