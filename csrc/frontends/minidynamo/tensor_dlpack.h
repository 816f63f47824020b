// Tensors to DLPack capsules and back: memory shared without a copy.
#pragma once
#include "cpython/ref.h"
#include "tensor/tensor.h"

namespace md {

// A capsule for one consumer, in the older form unless `versioned`. Sets BufferError for a tensor that requires grad,
// has no values, or is read-only if the form cannot express that.
Ref tensor_to_dlpack(const Tensor& tensor, bool versioned, bool copied);

// A tensor on the memory of an object with __dlpack__, or of a capsule, which is consumed. Throws Error(Runtime),
// Error(Type) or BufferError for unsupported contents.
Tensor tensor_from_dlpack(BorrowedRef source);

}  // namespace md
