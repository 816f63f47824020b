// Element types, from dtypes.def.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>

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

enum class DType : uint8_t {
#define MD_DTYPE(name, ctype, category, short_name, python_name) name,
#include "tensor/dtypes.def"
#undef MD_DTYPE
};

enum class DTypeCategory : uint8_t { Bool, Integer, Floating };

struct DTypeRow {
  const char* name;        // "float32", printed as minidynamo.float32
  const char* short_name;  // "f32", in graph_code
  DTypeCategory category;
  uint8_t size;  // bytes
};

inline constexpr DTypeRow kDTypes[] = {
#define MD_DTYPE(name, ctype, category, short_name, python_name) \
  {python_name, short_name, DTypeCategory::category, sizeof(ctype)},
#include "tensor/dtypes.def"
#undef MD_DTYPE
};
inline constexpr int kDTypeCount = sizeof(kDTypes) / sizeof(kDTypes[0]);

inline const DTypeRow& row(DType dtype) { return kDTypes[static_cast<int>(dtype)]; }
inline size_t item_size(DType dtype) { return row(dtype).size; }
inline bool is_floating(DType dtype) { return row(dtype).category == DTypeCategory::Floating; }

}  // namespace md
