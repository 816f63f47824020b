// The memory format of results, where another library's differs from that of our op.
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

// The results; a copy of each whose memory format is not that of the callable.
ValuePtr laid_out(Tracer& tracer, const TensorCallable& callable, const CallArgs& args, const ValuePtr& result);

}  // namespace md
