// Calls of what the trace knows.
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

// Applies the continuation to the result now, or inlines a Python function and applies it when that returns.
void call(Tracer& tracer, const ValuePtr& callable, CallArgs args,
          ContinuationKind continuation = ContinuationKind::Push, ValuePtr continuation_value = nullptr);
// Enters a Python function, or makes a generator of it.
void call_function(Tracer& tracer, const ValuePtr& function, CallArgs args, ContinuationKind continuation,
                   ValuePtr continuation_value);
// What call() does for objects with a __call__, for classes (call_class.cpp) and for wrappers. Null: a frame was inlined.
ValuePtr call_through_type(Tracer& tracer, const ValuePtr& callable, CallArgs& args, ContinuationKind continuation,
                           const ValuePtr& continuation_value);
ValuePtr call_class(Tracer& tracer, const ValuePtr& type, CallArgs& args, ContinuationKind continuation,
                    const ValuePtr& continuation_value);
// What type.__call__ does.
ValuePtr make_object(Tracer& tracer, const ValuePtr& type, CallArgs& args, ContinuationKind continuation);
ValuePtr initialise(Tracer& tracer, const ValuePtr& instance, const ValuePtr& init, CallArgs& args,
                    ContinuationKind continuation);
// Null: it is no ConstructedValue's call that is known.
bool call_partial(Tracer& tracer, const ValuePtr& callable, CallArgs& args, ContinuationKind continuation,
                  const ValuePtr& continuation_value);
bool call_constructed(Tracer& tracer, ConstructedValue* made, CallArgs& args, ContinuationKind continuation,
                      const ValuePtr& continuation_value);
ValuePtr open_wrapper(Tracer& tracer, const ValuePtr& callable, const WrapperType& wrapper, const Policy*& inside);
ValuePtr call_wrapper(Tracer& tracer, const ValuePtr& callable, const WrapperType& wrapper, CallArgs& args,
                      ContinuationKind continuation, const ValuePtr& continuation_value);
// A function that exists is guarded by its code.
void guard_code(Tracer& tracer, ObjectValue& function);
// A plain Python function, real or made here.
bool is_python_function(const ValuePtr& value);
// Calls something and runs it to its end inside the current instruction: what a builtin calls back.
ValuePtr call_now(Tracer& tracer, const ValuePtr& callable, CallArgs args);
// The same; nullopt: it raised an exception of this class, which nobody else sees.
std::optional<ValuePtr> call_catching(Tracer& tracer, const ValuePtr& callable, CallArgs args, PyObject* exception);
// Of what a wrapper stands for, under the policy inside it.
void call_under(Tracer& tracer, const Policy* inside, const ValuePtr& function, CallArgs& args,
                ContinuationKind continuation, const ValuePtr& continuation_value);
// Of what functools.lru_cache has made (cached_calls.cpp).
ValuePtr call_cached(Tracer& tracer, const ValuePtr& callable, const CallArgs& args);
// The text by a __repr__ that knows what it is in the middle of (guarded_reprs.cpp); null: another function, or not known.
ValuePtr guarded_repr(Tracer& tracer, const ValuePtr& function, const CallArgs& args);
// Runs the body of a class to its end inside the current instruction. Returns its result, a cell or None.
ValuePtr run_class_body(Tracer& tracer, const ValuePtr& function, const Handle<DictValue>& names);

// --- frames (inlining.cpp)
// Enters a Python function, not a generator's.
void inline_function(Tracer& tracer, const ValuePtr& function, CallArgs args, ContinuationKind continuation,
                     ValuePtr continuation_value);
// A frame of the function, its parameters bound, its code guarded.
std::shared_ptr<SymbolicFrame> frame_of(Tracer& tracer, const ValuePtr& function, CallArgs& args);
// The innermost frame returns `result` to its caller, or ends the region.
void return_value(Tracer& tracer, ValuePtr result);
void apply_continuation(Tracer& tracer, ContinuationKind kind, const ValuePtr& continuation_value, ValuePtr result);

// --- generators (generators.cpp)
ValuePtr make_generator(Tracer& tracer, std::shared_ptr<SymbolicFrame> body);
// Runs a generator to its next yield; nullopt: it has returned.
std::optional<ValuePtr> resume(Tracer& tracer, IteratorValue* generator, const ValuePtr& sent);
// The same, raising the exception where it is suspended.
std::optional<ValuePtr> throw_into(Tracer& tracer, IteratorValue* generator, const ValuePtr& exception);
// It is suspended where closing it would run handlers.
bool needs_closing(const IteratorValue& generator);
// Runs the frames above this depth until they have left.
void run_pending(Tracer& tracer, size_t depth);
// Whether the code has handlers of the program's: try, with, and the like.
bool has_handlers(const Bytecode& bytecode);
// Whether one of them covers the instruction.
bool catches(const Bytecode& bytecode, int index);

}  // namespace md
