// The class of a library's sizes, and its numel(): `type` is TensorFamily::size_type.
#pragma once
#include "symbolic/calls/calls.h"

namespace md {

// type(sequence)
ValuePtr make_sizes(Tracer& tracer, PyTypeObject* type, const CallArgs& args);
// sizes.numel()
ValuePtr count_of_sizes(Tracer& tracer, PyTypeObject* type, const CallArgs& args);

}  // namespace md
