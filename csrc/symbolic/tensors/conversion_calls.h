// x.to(...), x.float(), x.cpu(), x.type_as(y) while tracing.
#pragma once
#include <string_view>

#include "symbolic/trace/tracer.h"

namespace md {

// Null: no conversion is called so. The tensor itself where nothing changes, as in an eager call.
ValuePtr call_conversion(Tracer& tracer, std::string_view method, TensorValue* tensor, const CallArgs& args);

}  // namespace md
