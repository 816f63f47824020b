// Modes visible to ops and guards.
#pragma once
#include "tensor/dtype.h"

namespace md {

struct TensorModes {
  bool grad_enabled = true;
  bool inference_mode = false;
};
TensorModes& tensor_modes();  // of this thread

// Process-wide, written under the GIL.
DType default_dtype();
void set_default_dtype(DType dtype);  // Error(Type) unless floating
// The dtype of a number without tensors: bool, int64 or the default dtype.
DType scalar_dtype(DTypeCategory category);

}  // namespace md
