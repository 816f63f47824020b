// tensor(data), as_tensor(data), new_tensor(data) and Tensor(data) in a trace.
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

// Known data is a constant of the graph, copied at each run because the program may modify the result. Tensors and
// run-time numbers in it are operands. `function` is the one that is called, `tensor_function` is tensor().
ValuePtr tensor_of_data(Tracer& tracer, BorrowedRef function, BorrowedRef tensor_function, const CallArgs& args);
// Tensor(sizes...) and Tensor(data).
ValuePtr tensor_of_class(Tracer& tracer, BorrowedRef type, BorrowedRef tensor_function, const CallArgs& args);

}  // namespace md
