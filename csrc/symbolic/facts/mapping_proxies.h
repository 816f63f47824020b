// What mappingproxies show.
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

// What a copy of a mapping goes over: of a mappingproxy the dict, which has to have dict's own ways.
ValuePtr copied_mapping(Tracer& tracer, const ValuePtr& value);
// The mapping that a mappingproxy shows; any other value is itself.
ValuePtr behind_proxy(Tracer& tracer, const ValuePtr& value);
// The __dict__ of a class. Null: not known.
ValuePtr proxy_of_class(Tracer& tracer, const ValuePtr& type);

}  // namespace md
