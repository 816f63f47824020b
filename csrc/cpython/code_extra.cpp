#include "cpython/code_extra.h"

#include <algorithm>
#include <new>

#include "base/error.h"

namespace md {
namespace {

#if PY_VERSION_HEX >= 0x030C0000
Py_ssize_t request_index(freefunc release) { return PyUnstable_Eval_RequestCodeExtraIndex(release); }
int set_extra(PyObject* code, Py_ssize_t index, void* extra) { return PyUnstable_Code_SetExtra(code, index, extra); }
#else
Py_ssize_t request_index(freefunc release) { return _PyEval_RequestCodeExtraIndex(release); }
int set_extra(PyObject* code, Py_ssize_t index, void* extra) { return _PyCode_SetExtra(code, index, extra); }
#endif

}  // namespace

CodeExtra::CodeExtra(freefunc release) : index_(request_index(release)) {
  MD_ASSERT(index_ >= 0, "no co_extra index left");
}

// Grows co_extra up to our index and no further: the interpreter would allocate every index, and then call the
// release function of each library, with NULL, for each of our code objects, even after that function was
// freed at interpreter shutdown.
void CodeExtra::make_room(PyCodeObject* code) const {
  auto* extra = static_cast<CodeExtraArray*>(code->co_extra);
  Py_ssize_t count = extra == nullptr ? 0 : extra->count;
  if (count > index_) return;
  void* room = PyMem_Realloc(extra, sizeof(CodeExtraArray) + static_cast<size_t>(index_) * sizeof(void*));
  if (room == nullptr) throw std::bad_alloc();
  extra = static_cast<CodeExtraArray*>(room);
  std::fill(extra->values + count, extra->values + index_ + 1, nullptr);
  extra->count = index_ + 1;
  code->co_extra = extra;
}

void CodeExtra::set(PyCodeObject* code, void* value) const {
  make_room(code);
  int status = set_extra(reinterpret_cast<PyObject*>(code), index_, value);
  if (status < 0 && PyErr_Occurred() == nullptr) PyErr_NoMemory();  // CPython sets no exception here
  check_status(status);
  MD_ASSERT(get(code) == value, "co_extra lies elsewhere");
}

}  // namespace md
