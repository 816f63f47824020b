// Keys with a user-defined __hash__ or __eq__.
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

// The key for a look-up in the container or a store into it: an equal key in the container, or else the value's own. A
// user-defined __hash__ and __eq__ are called as Python calls them (user_keys.cpp).
Ref key_in(Tracer& tracer, ValuePtr container, ValuePtr value);
KeyTable::UserKey& user_key(Tracer& tracer, const ValuePtr& value);
Ref hashed_key(Tracer& tracer, const ValuePtr& value);
// The step at which the hash behind this proxy was first computed.
int64_t user_key_step(Tracer& tracer, BorrowedRef stand_in);

}  // namespace md
