// t.data = other: the tensor has other elements from then on, in other memory, and remains the same object.
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

void store_data(Tracer& tracer, const ValuePtr& tensor, const ValuePtr& data);

}  // namespace md
