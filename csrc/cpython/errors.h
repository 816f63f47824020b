// The boundary where C++ exceptions become Python exceptions.
#pragma once
#include "base/error.h"
#include "cpython/ref.h"

#include <utility>

namespace md {

// Call only in a catch block: sets the Python exception that corresponds to the caught C++ exception. PythonError keeps
// the one already set. Requires the GIL.
void set_error_from_current_exception() noexcept;

// Call only in a catch block: whether the exception was an out-of-memory error, in C++ or in Python
// (whose exception is then cleared).
bool was_want_of_memory() noexcept;

// Fills in `name` and `obj` of the current AttributeError if both are unset, as PyObject_GetAttr() does.
void add_attribute_context(BorrowedRef object, BorrowedRef name);

// A Python exception raised because a region may not be captured, not by the program itself.
struct CaptureError : PythonError {
  bool outlives_handlers = false;  // frames that it propagates through end with it, even if a
                                   // handler of the program catches it
};

// Takes the current exception, normalised, and clears it.
Ref take_raised();
// Restores an exception with its traceback and context.
void set_raised(Ref exception);

// Saves and clears the current exception, if any, during its lifetime.
class ErrorAside {
 public:
  ErrorAside() : error_(PyErr_Occurred() != nullptr ? take_raised() : Ref()) {}
  ~ErrorAside() {
    if (error_) set_raised(std::move(error_));
  }
  ErrorAside(const ErrorAside&) = delete;
  BorrowedRef get() const { return error_; }

 private:
  Ref error_;
};

}  // namespace md
