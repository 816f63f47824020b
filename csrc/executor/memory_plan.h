// Assigns intermediates to offsets in one arena so that simultaneously live ones never overlap.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace md {

// A block of bytes that is first written at step `first` and last read at step `last`.
struct ArenaBlock {
  int64_t nbytes = 0;  // kLiesElsewhere: needs no memory here
  int first = 0;
  int last = 0;
  int64_t offset = -1;  // the result: a multiple of kArenaAlignment
};

inline constexpr int64_t kArenaAlignment = 64;
inline constexpr int64_t kLiesElsewhere = -1;

// Sets the offsets; returns the arena's size. Blocks that are never alive together share memory.
int64_t plan_arena(std::span<ArenaBlock> blocks);

}  // namespace md
