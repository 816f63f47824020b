// Numbers taken out of tensors under config.capture_scalar_outputs or fullgraph: item(), tolist(), int() and float() of a tensor.
//  1. Such a number is a tensor of no dims in the graph (int64, float64 or bool), and at an exit the Python number in it.
//  2. What the program works out of it is worked out in the graph, exactly as Python would, or the plan fails and Python does it.
//  3. Whatever else asks for its value ends the region there.
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

// The only element of a tensor.
ValuePtr number_of(Tracer& tracer, TensorValue* tensor);
// The elements as nested lists, or the number of a tensor of no dims.
ValuePtr numbers_of(Tracer& tracer, TensorValue* tensor);
// A computation on numbers, one of them out of a tensor. Null: none of them is.
ValuePtr computed_in_graph(Tracer& tracer, ScalarOp scalar_op, const std::vector<ValuePtr>& operands);

}  // namespace md
