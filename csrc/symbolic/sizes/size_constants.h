// Sizes that are one object at every run.
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

// A constant of a subclass of tuple that is ours (Size), whose operators give one again. Null: not such a value.
inline BorrowedRef size_constant(const ValuePtr& value) {
  auto* object = as<ObjectValue>(value);
  bool is_size = object != nullptr && object->source == nullptr && PyTuple_Check(object->object.get()) &&
                 !PyTuple_CheckExact(object->object.get());
  return is_size ? BorrowedRef(object->object) : nullptr;
}

}  // namespace md
