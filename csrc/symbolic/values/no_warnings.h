// While it exists, warnings.warn() raises in this thread, or says nothing: a function run ahead of execution would warn
// at the wrong place, and once for all runs. Other threads are not affected. GIL held.
#pragma once
#include <cstdint>

#include "cpython/ref.h"

namespace md {

class NoWarnings {
 public:
  enum class Instead : uint8_t { Raise, Return };
  explicit NoWarnings(Instead instead = Instead::Raise);
  ~NoWarnings();
  NoWarnings(const NoWarnings&) = delete;
  NoWarnings& operator=(const NoWarnings&) = delete;
  // True if a warning was suppressed.
  bool met() const { return met_; }

 private:
  friend PyObject* hold_back_warning();
  NoWarnings* outer_;
  Instead instead_;
  bool met_ = false;
};

}  // namespace md
