// Numbers read from tensors under config.capture_scalar_outputs or fullgraph: item(), tolist(), int() and float() of a
// tensor.
//   1. Such a number is a 0-dim tensor in the graph (int64, float64 or bool), and the Python number in it at an exit.
//   2. Computations on it are done in the graph, exactly as Python would, or the plan fails and the interpreter does
//      them.
//   3. Any other use of its value ends the region.
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

// The only element of a tensor.
ValuePtr number_of(Tracer& tracer, TensorValue* tensor);
// The number of a 0-dim value of the graph, int64, float64 or bool, that no code writes to.
ValuePtr number_in_graph(Tracer& tracer, ValueRef value);
// Under fullgraph, numbers are captured without the config flag, as TorchDynamo does.
bool captures_numbers(Tracer& tracer);
// The elements as nested lists, or the number of a 0-dim tensor.
ValuePtr numbers_of(Tracer& tracer, TensorValue* tensor);
// A computation on numbers, at least one of them read from a tensor; null otherwise.
ValuePtr computed_in_graph(Tracer& tracer, ScalarOp scalar_op, const std::vector<ValuePtr>& operands);

// The least or the largest of integers, at least one of them read from a tensor or counted in one.
ValuePtr extreme_in_graph(Tracer& tracer, bool largest, const std::vector<ValuePtr>& values);

}  // namespace md
