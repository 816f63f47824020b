// Values of ours on code objects, in co_extra. GIL held.
#pragma once
#include "cpython/ref.h"

namespace md {

class CodeExtra {
 public:
  // release, which may be null, frees a value when its code object dies. Throws Error(Internal) when no index is left.
  explicit CodeExtra(freefunc release);
  // Null where nothing has been set. Throws PythonError.
  void* get(PyCodeObject* code) const;
  // Takes over `value`; what was there before is released.
  void set(PyCodeObject* code, void* value) const;

 private:
  Py_ssize_t index_;
};

}  // namespace md
