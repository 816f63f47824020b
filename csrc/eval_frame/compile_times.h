// The time taken by each capture, since the start or the last reset. Requires the GIL.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace md {

struct CompileTime {
  int64_t trace_ns, plan_ns;
};

class CompileTimes {
 public:
  void add(CompileTime time);
  void clear();
  // The most recent ones, oldest first, at most kMost.
  std::vector<CompileTime> recent() const;
  CompileTime total() const { return total_; }
  static constexpr size_t kMost = 4096;

 private:
  std::vector<CompileTime> ring_;
  size_t next_ = 0;
  CompileTime total_{0, 0};
};
CompileTimes& compile_times();

}  // namespace md
