// Methods of collections.deque.
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

// The maximum length of a deque; -1: unbounded.
int64_t room_of(Tracer& tracer, const ValuePtr& deque);

}  // namespace md
