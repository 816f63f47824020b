// index() and count() of lists and deques.
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

// The index of the first item equal to the argument, from the second argument on and before the third if there are
// such, or, with `counts`, the number of equal items. Compares in order, as far as Python would; breaks on an unknown
// comparison.
ValuePtr search_items(Tracer& tracer, const CallArgs& args, const std::vector<ValuePtr>& items, bool counts);

}  // namespace md
