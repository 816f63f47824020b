// PolicyFunction: a callable that changes the policy for the time of each call of the function it wraps.
// What minidynamo._dynamo.error_on_graph_break and minidynamo.compiler.disable return as decorators.
#pragma once
#include "cpython/ref.h"
#include "snapshot/policy.h"

namespace md {

enum class PolicyChange : uint8_t {
  ErrorOnGraphBreak,    // breaks become errors
  NoErrorOnGraphBreak,  // breaks are allowed
  Disable,              // the function and everything it calls is run by Python
  DisableFrame,         // the function's own frame is run by Python, what it calls is captured
};

// The policy in force inside, given the caller's; null: not to be captured.
const Policy* policy_inside(PolicyChange change, const Policy* caller);

// What decorating a function gives; reason may be null.
Ref make_policy_function(BorrowedRef function, PolicyChange change, BorrowedRef reason);

// The ready type; GIL held.
PyTypeObject* policy_function_type();
bool is_policy_function(BorrowedRef object);

// Of a PolicyFunction, borrowed from it.
BorrowedRef wrapped_function(BorrowedRef policy_function);
PolicyChange policy_change(BorrowedRef policy_function);
BorrowedRef disable_reason(BorrowedRef policy_function);  // a str, or None

}  // namespace md
