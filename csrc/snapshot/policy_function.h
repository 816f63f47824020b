// PolicyFunction: a callable that changes the policy during each call of the wrapped function. Returned by the
// decorators minidynamo._dynamo.error_on_graph_break and minidynamo.compiler.disable.
#pragma once
#include "cpython/ref.h"
#include "snapshot/policy.h"

namespace md {

enum class PolicyChange : uint8_t {
  ErrorOnGraphBreak,    // breaks become errors
  NoErrorOnGraphBreak,  // breaks are allowed
  Disable,              // the function and everything it calls run uncaptured
  DisableFrame,         // the function's own frame runs uncaptured, its callees are captured
};

// The policy inside the function, given the caller's; null: not captured.
const Policy* policy_inside(PolicyChange change, const Policy* caller);

// Decorates a function; reason may be null.
Ref make_policy_function(BorrowedRef function, PolicyChange change, BorrowedRef reason);

// The ready type. Requires the GIL.
PyTypeObject* policy_function_type();
bool is_policy_function(BorrowedRef object);

// The function wrapped by a PolicyFunction, borrowed from it.
BorrowedRef wrapped_function(BorrowedRef policy_function);
PolicyChange policy_change(BorrowedRef policy_function);
BorrowedRef disable_reason(BorrowedRef policy_function);  // a str, or None

}  // namespace md
