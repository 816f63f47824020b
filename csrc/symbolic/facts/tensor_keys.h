// Tensors as keys of dicts and elements of sets: hashed by identity, and found by identity before they are compared.
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

// The key that represents the tensor; null if its class has a __hash__ in Python, or more tensors are keys than can be
// told apart. Whether it is one of the tensors that are keys already is guarded. `held`: the dict it is a key of is
// guarded to hold this object.
Ref tensor_key(Tracer& tracer, const ValuePtr& tensor, bool held = false);

}  // namespace md
