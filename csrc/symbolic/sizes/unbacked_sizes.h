// Sizes that are numbers out of tensors. A run knows them when it has come to them.
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

// What is computed of such numbers as a size; null: not all of them can be one.
ValuePtr size_computed(Tracer& tracer, ScalarOp scalar_op, const std::vector<ValuePtr>& operands);
// A computation on sizes out of tensors: a size, or else a number of the graph. Null: none of them is one.
ValuePtr computed_of_unbacked(Tracer& tracer, ScalarOp scalar_op, std::vector<ValuePtr>& operands);
// The region ends before what asks for all sizes of such a tensor.
void refuse_unbacked_sizes(Tracer& tracer, const TensorSpec& spec);
void refuse_unbacked(Tracer& tracer, const ValuePtr& value);
// The value of such a size as a number of the graph; null: it is none.
ValuePtr number_of_unbacked(Tracer& tracer, const ValuePtr& value);
// The symbol of a number out of a tensor.
Dim unbacked_size(Tracer& tracer, NumberValue* number);
ValueRef unbacked_number(GraphBuilder& builder, Dim dim);
// In each run this bool is True, or Python runs the region.
void assert_at_run_time(Tracer& tracer, NumberValue* condition);

}  // namespace md
