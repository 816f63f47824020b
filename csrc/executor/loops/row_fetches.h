// Software prefetch of a loop over rows.
#pragma once
#include <algorithm>
#include <array>
#include <span>

#include "executor/loops/loop_registers.h"
#include "tensor/prefetch.h"

namespace md {

// Address increment of a stream from one row to the next.
struct RowStep {
  int reg;
  int64_t bytes;
  int64_t element_bytes;  // 0: one element per row
};

// The hardware prefetcher stops at page ends, which is after a few short rows. Prefetches the streams that no other
// stream precedes: in a stencil the new part, and what is written.
class RowFetches {
 public:
  bool are_chosen() const { return count_ >= 0; }
  bool are_none() const { return count_ == 0; }
  void choose_none() { count_ = 0; }
  // steps: of all streams; the addresses of the first `taken` are maintained from row to row.
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
  // Prefetch distance, and the working set from which on it pays: short rows in L3 arrive fast enough without.
  static constexpr int64_t kBytesAhead = 4 * 1024, kBytesWorthFetching = 12 * 1024 * 1024;
  // How much of recently read data stays in a core's L2 cache.
  static constexpr uintptr_t kBytesKept = 256 * 1024;

  // A stream with a maintained address from which this stream's address can be derived.
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
  int count_ = -1;  // not chosen yet
};

}  // namespace md
