// What mappingproxies show.
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

// What a copy of a mapping goes over: of a mappingproxy the dict, which has to have dict's own ways.
ValuePtr copied_mapping(Walk& walk, const ValuePtr& value);
// The mapping that a mappingproxy shows; any other value is itself.
ValuePtr behind_proxy(Walk& walk, const ValuePtr& value);
// The __dict__ of a class. Null: not known.
ValuePtr proxy_of_class(Walk& walk, const ValuePtr& type);

}  // namespace md
