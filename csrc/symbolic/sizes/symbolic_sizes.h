// Sizes that differ from run to run. What decides anything by them is recorded and guarded.
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

ValuePtr size_value(Walk& walk, Dim dim);
ValuePtr shape_value(Walk& walk, const TensorSpec& spec);
// A Size with symbolic elements; the same with numbers.
bool is_shape(const ValuePtr& value);
ValuePtr known_shape(Walk& walk, const ValuePtr& value);
// Such a symbolic number is there, in a sequence or slice too.
bool has_symbolic_size(Walk& walk, const ValuePtr& value);
// The sizes become those of this capture, which holds for them alone.
void specialise(Walk& walk, const TensorSpec& spec);
// min() or max() of sizes; null: they are none.
ValuePtr smallest_or_largest(Walk& walk, bool largest, const std::vector<ValuePtr>& values);
std::optional<Dim> computed_dim(Walk& walk, Computation computation, const std::vector<ValuePtr>& operands);
std::optional<bool> decided(Walk& walk, const ComputedValue& value);
// A whole number that may be a size: symbolic or not. An int that varies becomes a symbol.
std::optional<Dim> dim_of(Walk& walk, const ValuePtr& value);
// The sizes of an input that differ from run to run become symbols.
void make_sizes_symbolic(Walk& walk, TensorValue* tensor);
// After a break Python decides on ints that vary.
bool is_for_python(Walk& walk, Dim dim);

}  // namespace md
