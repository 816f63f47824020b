// One call of an op from Python: bind by schema, convert, promote, run, wrap.
#pragma once
#include "cpython/ref.h"
#include "tensor/ops/op_row.h"

namespace md {

// self: the first positional value when the op is called as a method, else null. args, kw_names as in vectorcall.
// A new reference, or null with the Python exception set.
PyObject* dispatch(const OpRow& row, PyObject* self, PyObject* const* args, Py_ssize_t arg_count,
                   PyObject* kw_names) noexcept;

// An operator's operands; a new reference to NotImplemented when one is neither a tensor nor a number.
PyObject* dispatch_operator(const OpRow& row, PyObject* a, PyObject* b) noexcept;
PyObject* dispatch_operator(const OpRow& row, PyObject* a) noexcept;
// x.f_(...): writes the result into x and gives x.
PyObject* dispatch_in_place(const OpRow& row, PyObject* self, PyObject* const* args, Py_ssize_t arg_count,
                            PyObject* kw_names) noexcept;
PyObject* dispatch_in_place_operator(const OpRow& row, PyObject* a, PyObject* b) noexcept;
// Throws Error(Runtime) when the tensor is a leaf whose gradient is wanted and grad mode is on.
void require_no_leaf_write(BorrowedRef self);

// The Python value of an op's results: a tensor, or a tuple as the schema's returns say.
Ref wrap_results(const OpRow& row, std::vector<Tensor> results);

}  // namespace md
