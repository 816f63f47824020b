// Operations on tensors.
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

ValuePtr call_op(Walk& walk, const OpRow& row, const CallArgs& args, CallForm form);

}  // namespace md
