// Sizes that are the same object at every run.
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

// A constant of the package's own subclass of tuple (Size), whose operators return a Size again. Null for other values.
inline BorrowedRef size_constant(const ValuePtr& value) {
  auto* object = as<ObjectValue>(value);
  bool is_size = object != nullptr && object->source == nullptr && PyTuple_Check(object->object.get()) &&
                 !PyTuple_CheckExact(object->object.get());
  return is_size ? BorrowedRef(object->object) : nullptr;
}

}  // namespace md
