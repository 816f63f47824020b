// What a loop over rows asks the memory for before it comes to it.
#pragma once
#include <algorithm>
#include <array>
#include <span>

#include "executor/loops/loop_registers.h"
#include "tensor/prefetch.h"

namespace md {

// From each row of a stream to the next one.
struct RowStep {
  int reg;
  int64_t bytes;
  int64_t element_bytes;  // 0: one element for the row
};

// What a processor asks for by itself ends with a page, which is a few short rows. Asked for are the streams that others do
// not go ahead of: of a stencil the part that is new, and what is written.
class RowFetches {
 public:
  bool are_chosen() const { return count_ >= 0; }
  void choose_none() { count_ = 0; }
  // steps: of all streams; the addresses of the first `taken` are kept from row to row.
  void choose(const LoopProgram& program, std::span<const RowStep> steps, size_t taken, const LoopRegisters& at) {
    count_ = 0;
    int64_t bytes = 0;
    for (const RowStep& step : steps) {
      int64_t length = step.element_bytes * program.row_length;
      const RowStep* leader = leader_of(step, steps.first(taken));
      if (leader == nullptr || length < kCacheLine || step.bytes < length || step.bytes > kBytesAhead ||
          has_one_ahead(step, steps, at))
        continue;
      int64_t rows = std::clamp<int64_t>(kBytesAhead / step.bytes, 1, kRowsAhead);
      int64_t beside = at[step.reg] - at[leader->reg];
      fetches_[static_cast<size_t>(count_++)] = {leader->reg, beside + rows * step.bytes, length};
      bytes += program.rows * step.bytes;
    }
    if (bytes < kBytesWorthFetching) count_ = 0;
  }
  void ask(const LoopRegisters& at) const {
    for (int i = 0; i < count_; ++i) {
      const Fetch& later = fetches_[static_cast<size_t>(i)];
      prefetch(at[later.reg] + later.ahead, later.length);
    }
  }

 private:
  // How far to ask ahead, and what the caches hold: from the third level short rows come fast enough by themselves.
  static constexpr int64_t kBytesAhead = 4 * 1024, kBytesWorthFetching = 12 * 1024 * 1024;
  // What a core's second level keeps of what has been read.
  static constexpr uintptr_t kBytesKept = 256 * 1024;

  // Where this stream is can be told from one whose address is kept.
  static const RowStep* leader_of(const RowStep& step, std::span<const RowStep> taken) {
    if (&step >= taken.data() && &step < taken.data() + taken.size()) return &step;
    auto found =
        std::find_if(taken.begin(), taken.end(), [&](const RowStep& other) { return other.bytes == step.bytes; });
    return found == taken.end() ? nullptr : &*found;
  }
  static bool has_one_ahead(const RowStep& step, std::span<const RowStep> steps, const LoopRegisters& at) {
    auto address = [&](const RowStep& of) { return reinterpret_cast<uintptr_t>(at[of.reg]); };
    return std::any_of(steps.begin(), steps.end(), [&](const RowStep& other) {
      uintptr_t distance = address(other) - address(step);
      return other.bytes == step.bytes && distance > 0 && distance <= kBytesKept;
    });
  }

  struct Fetch {
    int reg;
    int64_t ahead, length;
  };
  std::array<Fetch, kMaxLoopRegisters> fetches_;
  int count_ = -1;  // not yet chosen
};

}  // namespace md
