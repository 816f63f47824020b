// minidynamo's values on code objects, in co_extra. Requires the GIL.
#pragma once
#include "cpython/ref.h"

namespace md {

// The layout behind co_extra, as defined by codeobject.c in 3.11 to 3.14; CodeExtra::set
// checks it against the interpreter.
struct CodeExtraArray {
  Py_ssize_t count;
  void* values[1];
};

class CodeExtra {
 public:
  // `release` (may be null) frees a value when its code object is deallocated; it is also called with NULL
  // where nothing was set. Constructed at import, so indices requested later come after ours. Throws
  // Error(Internal) if no index is left.
  explicit CodeExtra(freefunc release);
  // Returns null if nothing has been set.
  void* get(PyCodeObject* code) const {
    auto* extra = static_cast<const CodeExtraArray*>(code->co_extra);
    // NOLINTNEXTLINE(clang-analyzer-security.ArrayBound): the constructor has checked that index_ is not negative.
    return extra == nullptr || extra->count <= index_ ? nullptr : extra->values[index_];
  }
  // Takes ownership of `value`; the previous value is released.
  void set(PyCodeObject* code, void* value) const;

 private:
  void make_room(PyCodeObject* code) const;

  Py_ssize_t index_;
};

}  // namespace md
