// While it lives warnings.warn() fails in this thread: what a function warns of when it is run ahead of its time would be said at the
// wrong place, and once for all runs. Other threads warn as ever. GIL held.
#pragma once
#include "cpython/ref.h"

namespace md {

class NoWarnings {
 public:
  NoWarnings();
  ~NoWarnings();
  NoWarnings(const NoWarnings&) = delete;
  NoWarnings& operator=(const NoWarnings&) = delete;
  // A warning was held back; the exception that it has become is set.
  bool met() const { return met_; }

 private:
  friend PyObject* hold_back_warning();
  NoWarnings* outer_;
  bool met_ = false;
};

}  // namespace md
