// One call of an op from Python: bind by schema, convert, promote, run, wrap.
#pragma once
#include "cpython/ref.h"
#include "tensor/ops/op_row.h"

namespace md {

// self: the first positional value if the op is called as a method, else null. args, kw_names as in vectorcall. Returns
// a new reference, or null with an exception set.
PyObject* dispatch(const OpRow& row, PyObject* self, PyObject* const* args, Py_ssize_t arg_count,
                   PyObject* kw_names) noexcept;

// The operands of an operator; returns a new reference to NotImplemented if one is neither a tensor nor a number.
PyObject* dispatch_operator(const OpRow& row, PyObject* a, PyObject* b) noexcept;
PyObject* dispatch_operator(const OpRow& row, PyObject* a) noexcept;
// x.f_(...): writes the result to x and returns x.
PyObject* dispatch_in_place(const OpRow& row, PyObject* self, PyObject* const* args, Py_ssize_t arg_count,
                            PyObject* kw_names) noexcept;
PyObject* dispatch_in_place_operator(const OpRow& row, PyObject* a, PyObject* b) noexcept;
// Throws Error(Runtime) if the tensor is a leaf that requires grad and grad mode is on.
void require_no_leaf_write(BorrowedRef self);

// Wraps an op's results: a tensor, or a tuple according to the schema's returns.
Ref wrap_results(const OpRow& row, std::vector<Tensor> results);

}  // namespace md
