// x.to(...), x.float(), x.cpu(), x.type_as(y) in a trace.
#pragma once
#include "frontends/tensor_conversions.h"
#include "symbolic/trace/tracer.h"

namespace md {

// Returns the tensor itself if nothing changes, as in an eager call.
ValuePtr call_conversion(Tracer& tracer, const ConversionMethod& method, TensorValue* tensor, const CallArgs& args);

}  // namespace md
