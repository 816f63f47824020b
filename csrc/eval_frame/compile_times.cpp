#include "eval_frame/compile_times.h"

#include <algorithm>

namespace md {

void CompileTimes::add(CompileTime time) {
  total_.trace_ns += time.trace_ns;
  total_.plan_ns += time.plan_ns;
  if (ring_.size() < kMost) {
    ring_.push_back(time);
    return;
  }
  ring_[next_] = time;
  next_ = (next_ + 1) % kMost;
}

void CompileTimes::clear() { *this = CompileTimes(); }

std::vector<CompileTime> CompileTimes::recent() const {
  std::vector<CompileTime> times(ring_);
  std::rotate(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(next_), times.end());
  return times;
}

CompileTimes& compile_times() {
  static CompileTimes times;
  return times;
}

}  // namespace md
