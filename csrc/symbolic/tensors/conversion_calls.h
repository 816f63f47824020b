// x.to(...), x.float(), x.cpu(), x.type_as(y) in a trace.
#pragma once
#include <string_view>

#include "symbolic/trace/tracer.h"

namespace md {

// Null: not the name of a conversion. Returns the tensor itself if nothing changes, as in an eager call.
ValuePtr call_conversion(Tracer& tracer, std::string_view method, TensorValue* tensor, const CallArgs& args);

}  // namespace md
