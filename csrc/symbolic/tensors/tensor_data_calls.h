// tensor(data), as_tensor(data) and new_tensor(data) in a trace.
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

// Known data is a constant of the graph, copied at each run because the program may modify the result. Tensors and
// run-time numbers in it are operands.
ValuePtr tensor_of_data(Tracer& tracer, BorrowedRef function, const CallArgs& args);

}  // namespace md
