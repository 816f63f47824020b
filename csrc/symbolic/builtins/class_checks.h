// isinstance() and issubclass().
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

// isinstance(); breaks for a class whose own check is unknown.
bool is_instance(Tracer& tracer, const ValuePtr& value, const ValuePtr& classinfo);

}  // namespace md
