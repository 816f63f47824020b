// Collects what is recorded on this thread during its lifetime. Recordings nest; each sees
// everything recorded within it.
#pragma once
#include <utility>
#include <vector>

namespace md {

template <class Record>
class Recording {
 public:
  Recording() : outer_(std::exchange(innermost_, this)) {}
  ~Recording() { innermost_ = outer_; }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  static void add(const Record& record) {
    for (Recording* recording = innermost_; recording != nullptr; recording = recording->outer_)
      recording->records_.push_back(record);
  }
  const std::vector<Record>& records() const { return records_; }

 private:
  static inline thread_local Recording* innermost_ = nullptr;
  Recording* outer_;
  std::vector<Record> records_;
};

}  // namespace md
