// index() and count() of lists and deques.
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

// The place of the first of `items` that equals the argument, or, with `counts`, how many do. Items are compared in their order,
// as far as Python would; a comparison that is not known breaks.
ValuePtr search_items(Tracer& tracer, const CallArgs& args, const std::vector<ValuePtr>& items, bool counts);

}  // namespace md
