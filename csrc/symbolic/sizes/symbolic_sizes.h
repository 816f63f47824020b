// Sizes that differ from run to run. What decides anything by them is recorded and guarded.
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

ValuePtr size_value(Tracer& tracer, Dim dim);
ValuePtr shape_value(Tracer& tracer, const TensorSpec& spec);
// A Size with symbolic elements; the same with numbers.
bool is_shape(const ValuePtr& value);
ValuePtr known_shape(Tracer& tracer, const ValuePtr& value);
// Such a symbolic number is there, in a sequence or slice too.
bool has_symbolic_size(Tracer& tracer, const ValuePtr& value);
// The sizes become those of this capture, which holds for them alone.
void specialise(Tracer& tracer, const TensorSpec& spec);
// min() or max() of sizes; null: they are none.
ValuePtr smallest_or_largest(Tracer& tracer, bool largest, const std::vector<ValuePtr>& values);
std::optional<Dim> computed_dim(Tracer& tracer, ScalarOp scalar_op, const std::vector<ValuePtr>& operands);
std::optional<bool> decided(Tracer& tracer, const ComputedValue& value);
// A whole number that may be a size: symbolic or not. An int that varies becomes a symbol.
std::optional<Dim> dim_of(Tracer& tracer, const ValuePtr& value);
// The sizes of an input that differ from run to run become symbols.
void make_sizes_symbolic(Tracer& tracer, TensorValue* tensor);
// After a break Python decides on ints that vary.
bool is_for_python(Tracer& tracer, Dim dim);

}  // namespace md
