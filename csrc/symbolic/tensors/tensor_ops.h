// Operations on tensors.
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

ValuePtr call_op(Tracer& tracer, const OpRow& row, const CallArgs& args, CallForm form);

}  // namespace md
