// Prefetches memory that is about to be read or written.
#pragma once
#include <cstdint>

namespace md {

inline constexpr int64_t kCacheLine = 64;

// Inline assembly, since GCC drops calls of a function that only contains __builtin_prefetch.
inline void prefetch(const void* from, int64_t bytes) {
  auto* first = static_cast<const char*>(from);
  for (int64_t at = 0; at < bytes; at += kCacheLine) asm volatile("prefetcht0 %0" : : "m"(first[at]));
}

}  // namespace md
