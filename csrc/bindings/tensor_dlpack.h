// Tensors to DLPack capsules and back: memory shared without a copy.
#pragma once
#include "cpython/ref.h"
#include "tensor/tensor.h"

namespace md {

// A capsule for one consumer. The older form unless `versioned`. Sets BufferError for a tensor that requires grad, has
// no values, or is read-only where the form cannot say so.
Ref tensor_to_dlpack(const Tensor& tensor, bool versioned, bool copied);

// A tensor over the memory of an object with __dlpack__, or of a capsule, which is used up. Throws Error(Runtime),
// Error(Type) or BufferError for what a tensor cannot be.
Tensor tensor_from_dlpack(BorrowedRef source);

}  // namespace md
