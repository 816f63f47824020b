// Copies of weights in the layouts that products and convolutions like best, kept with the storages that they were made from
// and shared by all that want the same layout.
//
// Weights are packed when they have been met a few times unchanged. Those whose memory is shared with the outside never
// are: a write there would go unnoticed.
#pragma once
#include <string>

#include "tensor/storage.h"

namespace md {

// What reads weights best in a layout of its own.
class WeightPacking {
 public:
  virtual ~WeightPacking() = default;
  virtual size_t packed_bytes() const = 0;
  virtual void pack(const void* weights, void* packed) const = 0;
  virtual const std::string& packed_layout() const = 0;  // equal texts: the same bytes become the same packed ones
};

// A product of more rows gains little from a packed b.
inline constexpr int64_t kMostRowsForPacking = 1024;

// The weights at `weights` in `storage` as `packing` wants them; null: they are not packed.
StoragePtr find_packed(Storage& storage, const void* weights, const WeightPacking& packing);

size_t packed_weights_bytes();  // of all

}  // namespace md
