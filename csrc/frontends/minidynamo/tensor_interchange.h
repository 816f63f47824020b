// Converts tensors to NumPy arrays and to bytes.
#pragma once
#include "cpython/ref.h"
#include "tensor/tensor.h"

namespace md {

// An ndarray on the tensor's memory; imports NumPy on the first call. Throws Error(Runtime) for a tensor that requires
// grad, unless forced, and Error(Type) for bfloat16.
Ref tensor_to_numpy(BorrowedRef self, bool force);
// __array__(dtype=None, copy=None): dtype and copy may be null.
Ref tensor_to_array(BorrowedRef self, BorrowedRef dtype, BorrowedRef copy);

// The elements in row-major order.
Ref tensor_to_bytes(const Tensor& tensor);

// A new tensor on the same memory that does not require grad.
Tensor alias_of(const Tensor& tensor);

}  // namespace md
