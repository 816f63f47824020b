// x.to(...), x.float(), x.cpu(), x.type_as(y) while walking.
#pragma once
#include <string_view>

#include "symbolic/trace/tracer.h"

namespace md {

// Null: no conversion is called so. The tensor itself where nothing changes, as in an eager call.
ValuePtr call_conversion(Walk& walk, std::string_view method, TensorValue* tensor, const CallArgs& args);

}  // namespace md
