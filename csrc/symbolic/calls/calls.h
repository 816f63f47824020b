// Calls of values known to the tracer.
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

// Calls `callable` and applies the continuation to the result, or inlines a Python function and applies it when that
// returns.
void call(Tracer& tracer, const ValuePtr& callable, CallArgs args,
          ContinuationKind continuation = ContinuationKind::Push, ValuePtr continuation_value = nullptr);
// Enters a Python function, or creates a generator from it.
void call_function(Tracer& tracer, const ValuePtr& function, CallArgs args, ContinuationKind continuation,
                   ValuePtr continuation_value);
// call() for objects with a __call__, for classes (call_class.cpp) and for wrappers. Returns null if a frame was
// inlined.
ValuePtr call_through_type(Tracer& tracer, const ValuePtr& callable, CallArgs& args, ContinuationKind continuation,
                           const ValuePtr& continuation_value);
ValuePtr call_class(Tracer& tracer, const ValuePtr& type, CallArgs& args, ContinuationKind continuation,
                    const ValuePtr& continuation_value);
// Calls a class as type.__call__ does.
ValuePtr make_object(Tracer& tracer, const ValuePtr& type, CallArgs& args, ContinuationKind continuation);
ValuePtr initialise(Tracer& tracer, const ValuePtr& instance, const ValuePtr& init, CallArgs& args,
                    ContinuationKind continuation);
// Returns false if the callable is not a partial whose call is known.
bool call_partial(Tracer& tracer, const ValuePtr& callable, CallArgs& args, ContinuationKind continuation,
                  const ValuePtr& continuation_value);
bool call_constructed(Tracer& tracer, ConstructedValue* made, CallArgs& args, ContinuationKind continuation,
                      const ValuePtr& continuation_value);
ValuePtr open_wrapper(Tracer& tracer, const ValuePtr& callable, const WrapperType& wrapper, const Policy*& inside);
ValuePtr call_wrapper(Tracer& tracer, const ValuePtr& callable, const WrapperType& wrapper, CallArgs& args,
                      ContinuationKind continuation, const ValuePtr& continuation_value);
// Guards a pre-existing function by its code.
void guard_code(Tracer& tracer, ObjectValue& function);
// Returns true for a Python function, pre-existing or created in the trace.
bool is_python_function(const ValuePtr& value);
// Makes a call and runs it to its end inside the current instruction: a callback from a builtin.
ValuePtr call_now(Tracer& tracer, const ValuePtr& callable, CallArgs args);
// Likewise; returns nullopt if it raised an exception of this class, which is then `caught`, or discarded if that is
// null.
std::optional<ValuePtr> call_catching(Tracer& tracer, const ValuePtr& callable, CallArgs args, PyObject* exception,
                                      ValuePtr* caught = nullptr);
// Calls the function inside a wrapper, under the policy that applies there.
void call_under(Tracer& tracer, const Policy* inside, const ValuePtr& function, CallArgs& args,
                ContinuationKind continuation, const ValuePtr& continuation_value);
// Calls a function wrapped by functools.lru_cache (cached_calls.cpp).
ValuePtr call_cached(Tracer& tracer, const ValuePtr& callable, const CallArgs& args);
// The result of a __repr__ with a recursion guard (guarded_reprs.cpp); null if it is another function, or unknown.
ValuePtr guarded_repr(Tracer& tracer, const ValuePtr& function, const CallArgs& args);
// Runs the body of a class to its end inside the current instruction. Returns its result, a cell or None.
ValuePtr run_class_body(Tracer& tracer, const ValuePtr& function, const Handle<DictValue>& names);

// --- frames (inlining.cpp)
// Enters a Python function that is not a generator function.
void inline_function(Tracer& tracer, const ValuePtr& function, CallArgs args, ContinuationKind continuation,
                     ValuePtr continuation_value);
// Creates a frame of the function, binds its parameters and guards its code.
std::shared_ptr<SymbolicFrame> frame_of(Tracer& tracer, const ValuePtr& function, CallArgs& args);
// Returns `result` from the innermost frame to its caller, or ends the region.
void return_value(Tracer& tracer, ValuePtr result);
void apply_continuation(Tracer& tracer, ContinuationKind kind, const ValuePtr& continuation_value, ValuePtr result);

// --- generators (generators.cpp)
ValuePtr make_generator(Tracer& tracer, const ValuePtr& function, const CallArgs& args,
                        std::shared_ptr<SymbolicFrame> body);
// Runs a generator to its next yield; nullopt: it has returned.
std::optional<ValuePtr> resume(Tracer& tracer, IteratorValue* generator, const ValuePtr& sent);
// Likewise, raising the exception at the point where it is suspended.
std::optional<ValuePtr> throw_into(Tracer& tracer, IteratorValue* generator, const ValuePtr& exception);
// Returns true if closing the generator would run handlers.
bool needs_closing(const IteratorValue& generator);
// One of the program's references to the value is dropped, the last of `held` handles; a suspended generator that dies
// with it is closed, as Python does.
void close_if_dropped(Tracer& tracer, const ValuePtr& value, uint32_t held = 1);
// Likewise for the locals of the innermost frame, which returns.
void close_dropped_locals(Tracer& tracer);
// Runs the frames above this depth until they have returned.
void run_pending(Tracer& tracer, size_t depth);
// Returns true if the code has handlers of the program's: try, with, and the like.
bool has_handlers(const Bytecode& bytecode);
// Returns true if one of them covers the instruction.
bool catches(const Bytecode& bytecode, int index);

}  // namespace md
