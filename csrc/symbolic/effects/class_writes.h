// Setting and deleting attributes of pre-existing classes.
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

// Null value: deleted. Returns false if the trace cannot do it.
bool class_store(Tracer& tracer, const ValuePtr& type, BorrowedRef name, const ValuePtr& value);
// The value written in this region under the name, along the MRO; null: deleted; nullopt: not written.
std::optional<ValuePtr> written_on_class(Tracer& tracer, const ValuePtr& type, BorrowedRef name);

}  // namespace md
