#include "tensor/tensor_modes.h"

#include <atomic>
#include <optional>
#include <utility>

#include "base/error.h"

namespace md {

static std::atomic<DType> current_default = DType::float32;

TensorModes& tensor_modes() {
  thread_local TensorModes modes;
  return modes;
}

DType own_default_dtype() { return current_default.load(std::memory_order_relaxed); }

static std::optional<DType>& lent_default() {
  thread_local std::optional<DType> dtype;
  return dtype;
}

DType default_dtype() { return lent_default().value_or(own_default_dtype()); }

DefaultDTypeScope::DefaultDTypeScope(DType dtype) : before_(std::exchange(lent_default(), dtype)) {}
DefaultDTypeScope::~DefaultDTypeScope() { lent_default() = before_; }

void set_default_dtype(DType dtype) {
  if (!is_floating(dtype)) {
    raise(ErrorKind::Type, "only floating-point types are supported as the default type, got minidynamo.",
          row(dtype).name);
  }
  current_default.store(dtype, std::memory_order_relaxed);
}

DType scalar_dtype(DTypeCategory category) {
  switch (category) {
    case DTypeCategory::Bool:
      return DType::bool_;
    case DTypeCategory::Integer:
      return DType::int64;
    case DTypeCategory::Floating:
      break;
    case DTypeCategory::Complex:
      return complex_dtype(default_dtype());
  }
  return default_dtype();
}

}  // namespace md
