#include "executor/memory_plan.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "base/error.h"

namespace md {
namespace {

// More than any machine has, and sums of two do not overflow.
constexpr int64_t kMostBytes = int64_t{1} << 61;

[[noreturn]] void raise_too_much() {
  raise(ErrorKind::Memory, "not enough memory: tried to allocate more than ", kMostBytes, " bytes");
}

// Free ranges of an arena that grows at its end.
class FreeList {
 public:
  int64_t take(int64_t nbytes) {
    auto best = ranges_.end();
    for (auto it = ranges_.begin(); it != ranges_.end(); ++it) {
      if (it->second >= nbytes && (best == ranges_.end() || it->second < best->second)) best = it;
    }
    if (best == ranges_.end()) return grow(nbytes);
    int64_t offset = best->first;
    int64_t left = best->second - nbytes;
    ranges_.erase(best);
    if (left > 0) ranges_[offset + nbytes] = left;
    return offset;
  }

  void give_back(int64_t offset, int64_t nbytes) {
    auto next = ranges_.lower_bound(offset);
    if (next != ranges_.end() && offset + nbytes == next->first) {
      nbytes += next->second;
      next = ranges_.erase(next);
    }
    if (next != ranges_.begin()) {
      auto before = std::prev(next);
      if (before->first + before->second == offset) {
        before->second += nbytes;
        return;
      }
    }
    ranges_[offset] = nbytes;
  }

  int64_t size() const { return size_; }

 private:
  // Grows a free range at the end of the arena instead of leaving a hole.
  int64_t grow(int64_t nbytes) {
    int64_t offset = size_;
    if (!ranges_.empty()) {
      auto last = std::prev(ranges_.end());
      if (last->first + last->second == size_) {
        offset = last->first;
        ranges_.erase(last);
      }
    }
    if (nbytes > kMostBytes - offset) raise_too_much();
    size_ = offset + nbytes;
    return offset;
  }

  std::map<int64_t, int64_t> ranges_;  // offset to length, never adjacent
  int64_t size_ = 0;
};

int64_t aligned(int64_t nbytes) {
  if (nbytes > kMostBytes) raise_too_much();
  return (std::max<int64_t>(nbytes, 1) + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
}

}  // namespace

int64_t plan_arena(std::span<ArenaBlock> blocks) {
  std::vector<ArenaBlock*> by_first, by_last;
  for (ArenaBlock& block : blocks) {
    if (block.nbytes == kLiesElsewhere) continue;
    by_first.push_back(&block);
    by_last.push_back(&block);
  }
  std::stable_sort(by_first.begin(), by_first.end(), [](auto* a, auto* b) { return a->first < b->first; });
  std::stable_sort(by_last.begin(), by_last.end(), [](auto* a, auto* b) { return a->last < b->last; });
  FreeList free;
  size_t ended = 0;
  for (ArenaBlock* block : by_first) {
    while (ended < by_last.size() && by_last[ended]->last < block->first) {
      free.give_back(by_last[ended]->offset, aligned(by_last[ended]->nbytes));
      ++ended;
    }
    block->offset = free.take(aligned(block->nbytes));
  }
  return free.size();
}

}  // namespace md
