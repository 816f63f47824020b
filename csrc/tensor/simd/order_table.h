// The inner loops of sorts, selections and searches, that exist once per instruction-set level. They compare keys:
// signed integers of 4 or 8 bytes that are in the order of the elements.
#pragma once
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include "tensor/dtype.h"

namespace md {

template <typename T>
using KeyOf = std::conditional_t<(sizeof(T) > 4), int64_t, int32_t>;

// What the keys of a floating dtype are made from: the bits of its numbers.
template <typename T>
struct KeyBits {
  static constexpr int kDigits = static_cast<int>(sizeof(T)) * 8 - 1;
  static constexpr KeyOf<T> kMagnitude = static_cast<KeyOf<T>>((uint64_t{1} << kDigits) - 1);
  static constexpr int kExponent = std::is_same_v<T, double> ? 11 : std::is_same_v<T, Half> ? 5 : 8;
  static constexpr KeyOf<T> kInfinity =
      static_cast<KeyOf<T>>(((uint64_t{1} << kExponent) - 1) << (kDigits - kExponent));
  // Of every NaN: they are equal, and last.
  static constexpr KeyOf<T> kNan = kMagnitude;
};

// keys[i]: of src[i]; in the opposite order if descending.
using KeyLoop = void (*)(const void* src, int64_t n, bool descending, void* keys);
// As in std::partition_point over sorted[0..extent): where each value goes, among equal ones first or last.
using PlaceLoop = void (*)(const void* sorted, int64_t extent, const void* values, int64_t n, bool right,
                           int64_t* places);

// Rows that are sorted at once: one in each column of a block with this many columns.
template <typename Key>
inline constexpr int64_t kOrderColumns = 64 / static_cast<int64_t>(sizeof(Key));

inline constexpr int64_t kRoomBehindKeys = 16;

template <typename Key>
struct KeyLoops {
  // Of n > 0 keys.
  void (*extremes)(const Key* keys, int64_t n, Key* least, Key* most);
  // Copies the keys in [least, most], in order, to `kept`; returns how many, and adds the number of those below to
  // *below.
  int64_t (*collect)(const Key* keys, int64_t n, Key least, Key most, Key* kept, int64_t* below);
  // The places of the first `limit` keys in [least, most]; returns how many.
  int64_t (*find)(const Key* keys, int64_t n, Key least, Key most, int64_t limit, int64_t* places);
  // Ascending; scratch: room for n + kRoomBehindKeys, as behind the keys themselves. Null where vectors do not help.
  void (*sort)(Key* keys, int64_t n, Key* scratch);
  // Sorts each column of n rows.
  void (*sort_columns)(Key* block, int64_t n);
};

struct OrderLoops {
  KeyLoop keys[kDTypeCount];
  PlaceLoop places[kDTypeCount];
  KeyLoops<int32_t> narrow;
  KeyLoops<int64_t> wide;
  // Sorts each column of n rows of keys of 8 bytes by key, then by place; the places move along.
  void (*sort_places)(int64_t* keys, int64_t* places, int64_t n);

  template <typename Key>
  const KeyLoops<Key>& of() const {
    if constexpr (sizeof(Key) == 4) {
      return narrow;
    } else {
      return wide;
    }
  }
};

}  // namespace md
