// What the program said about single callables: kept out of graphs, forbidden, constant, replaced, or traced in another way.
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

enum class CallMark : uint8_t {
  Disallowed,      // a break at the call
  Forbidden,       // AssertionError, whatever the policy
  ConstantResult,  // called once while capturing
  Replaced,        // the payload is inlined instead
  Skipped,         // a break at the call; the payload says why
  Traced,          // the payload is called once while capturing, on recording tensors
};

struct MarkedCall {
  CallMark mark;
  Ref payload;  // null where the callable itself is meant
};

// By identity. The mark lasts as long as the callable; the payload is held. A second mark replaces the first.
void mark_call(BorrowedRef callable, CallMark mark, BorrowedRef payload);
void unmark_call(BorrowedRef callable);
const MarkedCall* find_marked_call(BorrowedRef callable);
CallMark call_mark_named(std::string_view name);  // Error(Key)

// The result, or null if a frame was inlined.
ValuePtr call_marked(Tracer& tracer, const ValuePtr& callable, const MarkedCall& marked, CallArgs& args,
                     ContinuationKind continuation, const ValuePtr& continuation_value);

}  // namespace md
