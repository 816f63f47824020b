// Sorts and selections of one row of keys (tensor/simd/order_table.h). Results do not depend on the number of threads.
#pragma once
#include <cstdint>

#include "tensor/simd/order_table.h"

namespace md {

// Rows of at least this many keys are divided among threads.
inline constexpr int64_t kLongRow = int64_t{1} << 15;

// The places of the keys in ascending order; those of equal keys ascend. The first `kept` of them, if that is less than
// n.
template <typename Key>
void order_row(const Key* keys, int64_t n, int64_t kept, int64_t* places, int threads);

// Ascending, in place; there is room for kRoomBehindKeys more, which may be overwritten.
template <typename Key>
void sort_row(Key* keys, int64_t n, int threads);

// The key that a sort would put at `rank`, and the number of lesser ones.
template <typename Key>
struct Ranked {
  Key key;
  int64_t below;
};
template <typename Key>
Ranked<Key> select_key(const Key* keys, int64_t n, int64_t rank, int threads);

// The place of the key that a stable sort would put at `rank`.
template <typename Key>
int64_t place_of_rank(const Key* keys, int64_t n, const Ranked<Key>& ranked, int64_t rank);

}  // namespace md
