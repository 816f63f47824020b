// Creates tensors from Python data: numbers, nested sequences, arrays, other tensors.
#pragma once
#include <optional>

#include "cpython/ref.h"
#include "tensor/tensor.h"

namespace md {

// dtype nullopt: inferred from the data (bool, int64 or the default floating dtype; an array's or tensor's own). Throws
// Error(Value) for ragged data, Error(Type) for anything but numbers. Always copies.
Tensor tensor_from_data(BorrowedRef data, std::optional<DType> dtype);
// as_tensor: shares the memory of a tensor or array that already has the dtype.
Tensor tensor_sharing_data(BorrowedRef data, std::optional<DType> dtype);
// Whether data is another library's tensor that requires grad.
bool foreign_requires_grad(BorrowedRef data);
// Wraps a result of tensor_sharing_data: a leaf that requires grad if data does in its library.
Ref wrap_shared(BorrowedRef data, Tensor tensor);

// Implements tensor(data, *, dtype, device, requires_grad) and Tensor.new_tensor; dtype:
// the default if the call has none.
Ref leaf_from_call(const char* function, std::optional<DType> dtype, PyObject* const* args, Py_ssize_t arg_count,
                   PyObject* kw_names);

// Arguments of such functions; null or None: omitted.
std::optional<DType> read_dtype(const char* function, BorrowedRef value);
void check_device(const char* function, BorrowedRef value);

}  // namespace md
