// Tensors and the buffer protocol: memory shared with NumPy and others, in both directions.
#pragma once
#include <optional>

#include "cpython/ref.h"
#include "tensor/tensor.h"

namespace md {

// A tensor on the exporter's memory, which it keeps alive. Throws Error(Value) or Error(Type) for unsupported layouts
// and element types. writable receives whether the exporter permits writes.
Tensor tensor_over_buffer(BorrowedRef exporter, const char* what, bool* writable);

// The dtype of a buffer's elements; nullopt for unsupported formats.
std::optional<DType> dtype_of_format(const char* format, size_t item_size);

// Bytes from the first element to the end of the last.
size_t spanned_bytes(const TensorSpec& spec);

}  // namespace md
