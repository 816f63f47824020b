// Calls of what the walk knows.
#pragma once
#include "symbolic/walk.h"

namespace md {

// Applies the continuation to the result now, or inlines a Python function and applies it when that returns.
void call(Walk& walk, const ValuePtr& callable, CallArgs args, ContinuationKind continuation = ContinuationKind::Push,
          ValuePtr continuation_value = nullptr);
// Enters a Python function, or makes a generator of it.
void call_function(Walk& walk, const ValuePtr& function, CallArgs args, ContinuationKind continuation,
                   ValuePtr continuation_value);
// What call() does for objects with a __call__, for classes (call_class.cpp) and for wrappers. Null: a frame was inlined.
ValuePtr call_through_type(Walk& walk, const ValuePtr& callable, CallArgs& args, ContinuationKind continuation,
                           const ValuePtr& continuation_value);
ValuePtr call_class(Walk& walk, const ValuePtr& type, CallArgs& args, ContinuationKind continuation,
                    const ValuePtr& continuation_value);
// What type.__call__ does.
ValuePtr make_object(Walk& walk, const ValuePtr& type, CallArgs& args, ContinuationKind continuation);
ValuePtr initialise(Walk& walk, const ValuePtr& instance, const ValuePtr& init, CallArgs& args,
                    ContinuationKind continuation);
// Null: it is no MadeValue's call that is known.
bool call_partial(Walk& walk, const ValuePtr& callable, CallArgs& args, ContinuationKind continuation,
                  const ValuePtr& continuation_value);
bool call_made(Walk& walk, MadeValue* made, CallArgs& args, ContinuationKind continuation,
               const ValuePtr& continuation_value);
ValuePtr open_wrapper(Walk& walk, const ValuePtr& callable, const WrapperType& wrapper, const Policy*& inside);
ValuePtr call_wrapper(Walk& walk, const ValuePtr& callable, const WrapperType& wrapper, CallArgs& args,
                      ContinuationKind continuation, const ValuePtr& continuation_value);
// A function that exists is guarded by its code.
void guard_code(Walk& walk, ObjectValue& function);
// A plain Python function, real or made here.
bool is_python_function(const ValuePtr& value);

}  // namespace md
