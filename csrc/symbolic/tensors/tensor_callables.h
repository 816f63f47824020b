// Calls of a tensor library's callables, by what its family says that they mean.
#pragma once
#include "frontends/tensor_language.h"
#include "symbolic/trace/tracer.h"

namespace md {

ValuePtr call_tensor_callable(Tracer& tracer, const TensorCallable& callable, const CallArgs& args);
// An attribute of a tensor that its family's language defines.
ValuePtr tensor_attribute(Tracer& tracer, const ValuePtr& tensor, const TensorAttribute& attribute);
// int(x), float(x) and bool(x) of a tensor. Null: another callable, or not captured.
ValuePtr converted_to_number(Tracer& tracer, BorrowedRef callable, TensorValue* tensor);

}  // namespace md
