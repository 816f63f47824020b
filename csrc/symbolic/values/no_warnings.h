// While it exists, warnings.warn() raises in this thread: a function run ahead of execution would warn at the wrong
// place, and once for all runs. Other threads are not affected. GIL held.
#pragma once
#include "cpython/ref.h"

namespace md {

class NoWarnings {
 public:
  NoWarnings();
  ~NoWarnings();
  NoWarnings(const NoWarnings&) = delete;
  NoWarnings& operator=(const NoWarnings&) = delete;
  // True if a warning was suppressed; the exception raised instead is set.
  bool met() const { return met_; }

 private:
  friend PyObject* hold_back_warning();
  NoWarnings* outer_;
  bool met_ = false;
};

}  // namespace md
