// What mappingproxies show.
#pragma once
#include "symbolic/walk.h"

namespace md {

// What a copy of a mapping goes over: of a mappingproxy the dict, which has to have dict's own ways.
ValuePtr copied_mapping(Walk& walk, const ValuePtr& value);

}  // namespace md
