// Mapping proxies: the mappings behind them.
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

// The mapping that a copy iterates over: for a mappingproxy the underlying dict, which must have dict's own methods;
// for a user's mapping a dict of what its keys() and __getitem__ return. repeats: whether keys() returned a key twice.
ValuePtr copied_mapping(Tracer& tracer, const ValuePtr& value, bool* repeats = nullptr);
// The mapping behind a mappingproxy; any other value is returned unchanged.
ValuePtr behind_proxy(Tracer& tracer, const ValuePtr& value);
// The __dict__ of a class. Null: unknown.
ValuePtr proxy_of_class(Tracer& tracer, const ValuePtr& type);

}  // namespace md
