// Values of ours on code objects, in co_extra. GIL held.
#pragma once
#include "cpython/ref.h"

namespace md {

// What co_extra points to, as codeobject.c has it in 3.11 to 3.14; CodeExtra::set holds that against the interpreter.
struct CodeExtraArray {
  Py_ssize_t count;
  void* values[1];
};

class CodeExtra {
 public:
  // release, which may be null, frees a value when its code object dies; NULL too, where nothing was set. Made when
  // minidynamo is imported: what asks for a place later lies behind ours. Throws Error(Internal) when no index is left.
  explicit CodeExtra(freefunc release);
  // Null where nothing has been set.
  void* get(PyCodeObject* code) const {
    auto* extra = static_cast<const CodeExtraArray*>(code->co_extra);
    return extra == nullptr || extra->count <= index_ ? nullptr : extra->values[index_];
  }
  // Takes over `value`; what was there before is released.
  void set(PyCodeObject* code, void* value) const;

 private:
  void make_room(PyCodeObject* code) const;

  Py_ssize_t index_;
};

}  // namespace md
