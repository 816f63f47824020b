// Modes visible to ops and guards.
#pragma once
#include <optional>
#include <utility>

#include "tensor/dtype.h"

namespace md {

// In which dtypes the rows of the op table with a rule of autocast compute.
struct AutocastState {
  bool enabled = false;
  bool keeps_casts = true;        // of parameters, until it is off
  DType dtype = DType::bfloat16;  // of kLowPrecision; read while it is off, too
  bool operator==(const AutocastState&) const = default;
  // All of it as one number, and back.
  int word() const { return int{enabled} | int{keeps_casts} << 1 | static_cast<int>(dtype) << 2; }
  static AutocastState of_word(int word) { return {(word & 1) != 0, (word & 2) != 0, static_cast<DType>(word >> 2)}; }
};

struct TensorModes {
  bool grad_enabled = true;
  bool inference_mode = false;
  AutocastState autocast = {};
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
DType own_default_dtype();
void set_default_dtype(DType dtype);  // Error(Type) unless floating
// Of this thread: our own, or that of the library whose operations are traced.
DType default_dtype();

// Where operations of ours stand for those of a library that has another default dtype.
class DefaultDTypeScope {
 public:
  explicit DefaultDTypeScope(DType dtype);
  ~DefaultDTypeScope();
  DefaultDTypeScope(const DefaultDTypeScope&) = delete;
  DefaultDTypeScope& operator=(const DefaultDTypeScope&) = delete;

 private:
  std::optional<DType> before_;
};
// The dtype of a number without tensors: bool, int64 or the default dtype.
DType scalar_dtype(DTypeCategory category);

}  // namespace md
