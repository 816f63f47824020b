#include "executor/tile_runner.h"

namespace md {
namespace {

template <typename T>
void copy_strided(const std::byte* src, int64_t src_stride, std::byte* dst, int64_t dst_stride, int64_t n) {
  const T* from = reinterpret_cast<const T*>(src);
  T* to = reinterpret_cast<T*>(dst);
  for (int64_t i = 0; i < n; ++i) to[i * dst_stride] = from[i * src_stride];
}

}  // namespace

void copy_elements(int item_size, const std::byte* src, int64_t src_stride, std::byte* dst, int64_t dst_stride,
                   int64_t n) {
  switch (item_size) {
    case 1:
      return copy_strided<uint8_t>(src, src_stride, dst, dst_stride, n);
    case 2:
      return copy_strided<uint16_t>(src, src_stride, dst, dst_stride, n);
    case 4:
      return copy_strided<uint32_t>(src, src_stride, dst, dst_stride, n);
    default:
      return copy_strided<uint64_t>(src, src_stride, dst, dst_stride, n);
  }
}

}  // namespace md
