// Subscripts of tensors.
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

ValuePtr index_tensor(Tracer& tracer, TensorValue* tensor, const ValuePtr& key);
void store_into_tensor(Tracer& tracer, const ValuePtr& container, const ValuePtr& key, const ValuePtr& value);

}  // namespace md
