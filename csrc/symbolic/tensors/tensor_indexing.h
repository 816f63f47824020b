// Subscripts of tensors.
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

ValuePtr index_tensor(Walk& walk, TensorValue* tensor, const ValuePtr& key);
void store_into_tensor(Walk& walk, const ValuePtr& container, const ValuePtr& key, const ValuePtr& value);

}  // namespace md
