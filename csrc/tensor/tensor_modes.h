// Modes visible to ops and guards.
#pragma once
#include <utility>

#include "tensor/dtype.h"

namespace md {

struct TensorModes {
  bool grad_enabled = true;
  bool inference_mode = false;
};
TensorModes& tensor_modes();  // of this thread

// Sets this thread's grad mode until the end of the scope.
class GradModeScope {
 public:
  explicit GradModeScope(bool enabled) : before_(std::exchange(tensor_modes().grad_enabled, enabled)) {}
  ~GradModeScope() { tensor_modes().grad_enabled = before_; }
  GradModeScope(const GradModeScope&) = delete;
  GradModeScope& operator=(const GradModeScope&) = delete;

 private:
  bool before_;
};

// Process-wide, written under the GIL.
DType default_dtype();
void set_default_dtype(DType dtype);  // Error(Type) unless floating
// The dtype of a number without tensors: bool, int64 or the default dtype.
DType scalar_dtype(DTypeCategory category);

}  // namespace md
