// Sizes that are numbers out of tensors. A run knows them when it has come to them.
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

// What is computed of such numbers as a size; null: not all of them can be one.
ValuePtr size_computed(Walk& walk, Computation computation, const std::vector<ValuePtr>& operands);
// A computation on sizes out of tensors: a size, or else a number of the graph. Null: none of them is one.
ValuePtr computed_of_told(Walk& walk, Computation computation, std::vector<ValuePtr>& operands);
// The region ends before what asks for all sizes of such a tensor.
void refuse_told_sizes(Walk& walk, const TensorSpec& spec);
void refuse_told(Walk& walk, const ValuePtr& value);
// The value of such a size as a number of the graph; null: it is none.
ValuePtr number_of_told(Walk& walk, const ValuePtr& value);
// The symbol of a number out of a tensor.
Dim told_size(Walk& walk, NumberValue* number);
ValueRef told_number(GraphBuilder& builder, Dim dim);
// In each run this bool is True, or Python runs the region.
void rely_on(Walk& walk, NumberValue* condition);

}  // namespace md
