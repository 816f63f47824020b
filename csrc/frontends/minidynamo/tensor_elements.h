// Converts one element in memory to and from a Python object, by dtype.
#pragma once
#include "cpython/ref.h"
#include "tensor/tensor.h"

namespace md {

Ref element_to_python(DType dtype, const void* element);
// Converts as torch.tensor(data, dtype=...) does: floats are truncated to integers. Throws Error(Runtime) if the value
// does not fit, PythonError if it is no number.
void element_from_python(DType dtype, void* element, BorrowedRef value);

// Real tensors: nested lists, or the number of a 0-d one.
Ref tensor_to_list(const Tensor& tensor);
// The only element; throws Error(Runtime) naming `what` if there are none or several, or if the tensor has no storage.
Ref tensor_to_number(const Tensor& tensor, const char* what);
// Throws Error(Runtime) naming `what` for a fake or recording tensor.
void require_data(const Tensor& tensor, const char* what);

}  // namespace md
