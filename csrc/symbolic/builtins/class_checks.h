// isinstance() and issubclass().
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

// isinstance(), where no class involved has its own way.
bool is_instance(Tracer& tracer, const ValuePtr& value, const ValuePtr& classinfo);

}  // namespace md
