// The border where C++ exceptions become Python's.
#pragma once
#include "base/error.h"
#include "cpython/ref.h"

#include <utility>

namespace md {

// To be called in a catch block only: sets the Python exception that the caught C++ exception stands for.
// PythonError keeps the one that is set already. GIL held.
void set_error_from_current_exception() noexcept;

// To be called in a catch block only: whether memory was wanting, for C++ or for Python, whose exception is cleared then.
bool was_want_of_memory() noexcept;

// What PyObject_GetAttr() adds to an AttributeError that is set and knows neither: the object and the name that was asked for.
void add_attribute_context(BorrowedRef object, BorrowedRef name);

// A Python exception that is set because a region may not be captured; nothing that the program did has raised it.
struct CaptureError : PythonError {
  bool outlives_handlers = false;  // the frames that it passes end with it, whatever the program's handlers make of it
};

// The exception that is set, as the object that a handler receives; afterwards none is.
Ref take_raised();
// Sets it as it was, traceback and context included.
void set_raised(Ref exception);

// While it lives the exception that is set, if one is, is not; then it is set again.
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
