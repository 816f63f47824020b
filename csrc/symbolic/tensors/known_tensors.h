// Tensors of the graph that follow from constants alone: what the program reads of them is known while capturing.
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

// The only element as a Python number; null if it is not known, or there are none or several.
Ref known_number(Tracer& tracer, TensorValue* tensor);
// The elements as nested lists, or the number of a 0-dim tensor; null if they are not known.
ValuePtr known_elements(Tracer& tracer, TensorValue* tensor);

}  // namespace md
