// Unbacked sizes: numbers read from tensors and counts of their elements, known only during a run.
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

// The computation on such numbers as a size; null if some operand cannot be one.
ValuePtr size_computed(Tracer& tracer, ScalarOp scalar_op, const std::vector<ValuePtr>& operands);
// A computation on unbacked sizes: a size, or else a number of the graph. Null if no operand is one.
ValuePtr computed_of_unbacked(Tracer& tracer, ScalarOp scalar_op, std::vector<ValuePtr>& operands);
// Ends the region before an instruction that needs all sizes of such a tensor.
void refuse_unbacked_sizes(Tracer& tracer, const TensorSpec& spec);
void refuse_unbacked(Tracer& tracer, const ValuePtr& value);
// The value of an unbacked size as a number of the graph; null for other values.
ValuePtr number_of_unbacked(Tracer& tracer, const ValuePtr& value);
// The symbol of a number read from a tensor.
Dim unbacked_size(Tracer& tracer, NumberValue* number);
// The symbol of the number, not negative, that the op returns for these tensors: one for equal calls.
Dim counted_size(Tracer& tracer, const OpRow& count, const std::vector<Operand>& operands);
// Whether ops whose result's size depends on data are captured.
bool captures_data_sizes(Tracer& tracer);
ValueRef unbacked_number(GraphBuilder& builder, Dim dim);
// Adds a runtime assert: if the bool is False in a run, the interpreter runs the region.
void assert_at_run_time(Tracer& tracer, NumberValue* condition);

}  // namespace md
