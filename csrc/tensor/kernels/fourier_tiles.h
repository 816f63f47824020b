// The memory of transforms in lanes.
#pragma once
#include <vector>

#include "tensor/kernels/fourier_plan.h"
#include "tensor/storage.h"

namespace md {

// Rows that are shorter do not pay for being divided; a tile of columns that are longer leaves the cache.
inline constexpr int64_t kShortFourierRow = 256, kMostFourierColumn = 4096;

template <typename T>
class FourierTiles {
 public:
  explicit FourierTiles(int64_t points) {
    auto part = static_cast<size_t>(points * fourier_loops_of<T>().lanes);
    memory_ = Storage::allocate(4 * part * sizeof(T));
    T* data = static_cast<T*>(memory_->data());
    first = {data, data + part};
    second = {data + 2 * part, data + 3 * part};
  }
  FourierTile<T> first, second;

 private:
  StoragePtr memory_;
};

}  // namespace md
