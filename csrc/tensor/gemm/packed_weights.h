// Copies of weights in the preferred layouts of products and convolutions, owned by the storages that they were made
// from and shared by all users of the same layout.
// Weights are packed after they have been used a few times unchanged. Memory shared with other libraries is never
// packed: a write there would go unnoticed.
#pragma once
#include <string>

#include "tensor/storage.h"

namespace md {

// An operation with a preferred layout of weights.
class WeightPacking {
 public:
  virtual ~WeightPacking() = default;
  virtual size_t packed_bytes() const = 0;
  virtual void pack(const void* weights, void* packed) const = 0;
  virtual const std::string& packed_layout() const = 0;  // equal texts: the same input yields the same packed bytes
};

// A product of more rows gains little from a packed b.
inline constexpr int64_t kMostRowsForPacking = 1024;

// Whether every write to it is seen.
bool may_be_packed(const Storage& storage);

// Packed for one call.
StoragePtr pack_once(const WeightPacking& packing, const void* weights);

// When weights are packed: after some uses with the same contents and within a limit of memory, or at once, where each
// use would pack them otherwise.
enum class PackedWhen : uint8_t { Seen, AtOnce };

// The packed weights at `weights` in `storage`; null if they are not packed.
StoragePtr find_packed(Storage& storage, const void* weights, const WeightPacking& packing,
                       PackedWhen when = PackedWhen::Seen);

size_t packed_weights_bytes();  // in total

}  // namespace md
