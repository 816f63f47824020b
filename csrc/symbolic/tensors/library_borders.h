// Tensors of one library as tensors of another over the same memory.
#pragma once
#include "frontends/library_conversions.h"
#include "symbolic/trace/tracer.h"

namespace md {

struct TensorCallable;

// The tensor in the other library; breaks the graph where that library would not share its memory, or warns.
ValuePtr in_library(Tracer& tracer, const ValuePtr& tensor, const LibraryConversion& conversion);
// The arguments with a tensor of another library that comes first in the library of the callable, if there is a way.
CallArgs with_kin(Tracer& tracer, const TensorCallable& callable, const CallArgs& args);

}  // namespace md
