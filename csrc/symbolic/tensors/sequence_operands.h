// Lists and tuples that a library takes in the place of tensors.
#pragma once
#include <optional>

#include "symbolic/trace/tracer.h"

namespace md {

// The tensor that the library makes of a list or tuple of such a dtype; null: it is neither, or the library takes none.
ValuePtr tensor_of_sequence(Tracer& tracer, const TensorFamily& family, const ValuePtr& value,
                            std::optional<DType> dtype = {});

// Of two operands, a tensor and a list or tuple that its library takes for one: the latter becomes that tensor.
void convert_sequence(Tracer& tracer, ValuePtr& left, ValuePtr& right);

}  // namespace md
