// Setting and deleting attributes of classes that exist.
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

// Null value: deleted. False: the trace cannot do it.
bool class_store(Tracer& tracer, const ValuePtr& type, BorrowedRef name, const ValuePtr& value);
// What was written in this region under the name, along the MRO, null for deleted; nullopt: nothing was.
std::optional<ValuePtr> written_on_class(Tracer& tracer, const ValuePtr& type, BorrowedRef name);

}  // namespace md
