// Keys with a __hash__ and __eq__ of the program's own.
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

// The same for a look-up in a container or a store into it, with a __hash__ and __eq__ of the program's own called as Python
// calls them (user_keys.cpp): the key that is there and equal to it, or itself.
Ref key_in(Tracer& tracer, const ValuePtr& container, const ValuePtr& value);
KeyTable::UserKey& user_key(Tracer& tracer, const ValuePtr& value);
Ref hashed_key(Tracer& tracer, const ValuePtr& value);
// The step at which the program was first asked for the hash of what this stands for.
int64_t user_key_step(Tracer& tracer, BorrowedRef stand_in);

}  // namespace md
