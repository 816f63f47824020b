#include "cpython/code_extra.h"

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

void CodeExtra::set(PyCodeObject* code, void* value) const {
  int status = set_extra(reinterpret_cast<PyObject*>(code), index_, value);
  if (status < 0 && PyErr_Occurred() == nullptr) PyErr_NoMemory();  // CPython says nothing
  check_status(status);
  MD_ASSERT(get(code) == value, "co_extra lies elsewhere");
}

}  // namespace md
