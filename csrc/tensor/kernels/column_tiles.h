// Work on columns that are next to each other, in tiles of them: a row of a tile is in the L1 cache with others in use.
#pragma once
#include <algorithm>

#include "tensor/parallel/threads.h"

namespace md {

inline constexpr int64_t kTileColumns = 256;

struct ColumnTile {
  int64_t slice;         // of `slices`
  int64_t first, count;  // columns of it
};

// Calls make() once for each stretch of tiles, and what it returns for each tile. Threads share the tiles.
template <typename Make>
void for_column_tiles(int64_t slices, int64_t columns, double ns_per_column, const Make& make) {
  int64_t tiles = (columns + kTileColumns - 1) / kTileColumns;
  double ns = ns_per_column * static_cast<double>(std::min(columns, kTileColumns));
  parallel_for(slices * tiles, ns, [&](int64_t begin, int64_t end) {
    auto run = make();
    for (int64_t i = begin; i < end; ++i) {
      int64_t first = i % tiles * kTileColumns;
      run(ColumnTile{i / tiles, first, std::min(kTileColumns, columns - first)});
    }
  });
}

}  // namespace md
