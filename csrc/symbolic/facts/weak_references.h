// Weak references.
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

// Follows a weak reference that was created in the trace.
ValuePtr follow_made_reference(Tracer& tracer, const ConstructedValue& reference, const CallArgs& args);
ValuePtr call_weak_reference(Tracer& tracer, const ValuePtr& callable, const CallArgs& args);
// The reference without a callback to the same object; null if the value is not a weak reference that may be a key.
Ref weak_key_of(Tracer& tracer, const ValuePtr& value);
ValuePtr weak_item(Tracer& tracer, const ValuePtr& dict, BorrowedRef reference);
// Returns true if an object that existed at the region's start may have lost a reference since.
bool may_have_dropped(const Tracer& tracer);

}  // namespace md
