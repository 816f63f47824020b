// Symbolic sizes. Each decision that depends on one is recorded and guarded.
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

ValuePtr size_value(Tracer& tracer, Dim dim);
// The sizes of a tensor, as its family's programs see them.
ValuePtr shape_value(Tracer& tracer, const TensorFamily& family, const TensorSpec& spec);
// is_shape: a Size whose elements may be symbolic. known_shape: the same Size specialised to its numbers.
bool is_shape(const ValuePtr& value);
// With the type of the given Size.
ValuePtr shape_of_items(Tracer& tracer, PyTypeObject* type, std::vector<ValuePtr> items);
ValuePtr known_shape(Tracer& tracer, const ValuePtr& value);
// Returns true if the value is or contains (in a sequence or slice) a symbolic size.
bool has_symbolic_size(Tracer& tracer, const ValuePtr& value);
// Specialises the capture to the current sizes and strides of the spec.
void specialise(Tracer& tracer, const TensorSpec& spec);
std::optional<Dim> computed_dim(Tracer& tracer, ScalarOp scalar_op, const std::vector<ValuePtr>& operands);
std::optional<bool> decided(Tracer& tracer, const ComputedValue& value);
// The integer as a size, symbolic or not; a dynamic int becomes a symbol. Nullopt if it is not a possible size.
std::optional<Dim> dim_of(Tracer& tracer, const ValuePtr& value);
// Replaces the dynamic sizes of an input by symbols.
void make_sizes_symbolic(Tracer& tracer, TensorValue* tensor);
// Returns true if the interpreter must decide on this dim: after a break, for dynamic ints.
bool is_for_python(Tracer& tracer, Dim dim);

}  // namespace md
