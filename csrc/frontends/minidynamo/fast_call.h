// METH_FASTCALL | METH_KEYWORDS functions in C++: converts exceptions to Python's, reads arguments by name.
#pragma once
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "cpython/errors.h"
#include "cpython/ref.h"

namespace md {

using FastCall = PyObject* (*)(PyObject*, PyObject* const*, Py_ssize_t, PyObject*);

// Runs the body at the boundary to C.
template <typename Body>
PyObject* guarded(Body body) noexcept {
  try {
    return Ref(body()).release();
  } catch (...) {
    set_error_from_current_exception();
    return nullptr;
  }
}

inline PyCFunction as_c_function(FastCall function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}
inline PyMethodDef fast_method(const char* name, FastCall function, const char* doc) {
  return {name, as_c_function(function), METH_FASTCALL | METH_KEYWORDS, doc};
}

// The doc preceded by the signature line that inspect.signature parses, derived from a first line such as
// "size(dim=None) -> Size"; without one, any arguments. Lives as long as the process.
const char* doc_with_signature(const char* name, const char* doc, bool as_method);

// The values of named parameters, null if omitted. Names after "*" are keyword-only; a
// name that ends in "?" is optional.
std::vector<PyObject*> read_args(const char* function, std::initializer_list<const char*> params, PyObject* const* args,
                                 Py_ssize_t arg_count, PyObject* kw_names);

bool read_bool(const char* function, const char* param, BorrowedRef value, bool when_left_out);

}  // namespace md
