// Exceptions created, raised and caught in the trace.
//   1. Only the interpreter gives an exception its traceback and context. If a raised one would be visible outside (it
//      is left in a slot, being handled when the region ends, or leaves the region), the trace restarts and ends before
//      it is raised.
//   2. An exception unwinds frames as Python does: through their handlers, innermost first.
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

// An exception instance created in the trace; null for other values.
InstanceValue* exception_of(const ValuePtr& value);
// The result of BaseException.__new__. Null if the class creates its exceptions in another way.
Handle<InstanceValue> new_exception(Tracer& tracer, const ValuePtr& type, const std::vector<ValuePtr>& args);
// The user-defined __init__ of its class; null: BaseException's own, which keeps the arguments.
ValuePtr exception_init(Tracer& tracer, const Handle<InstanceValue>& exception);
// Creates and initialises the exception if that runs no user code; null otherwise.
ValuePtr make_exception(Tracer& tracer, const ValuePtr& type, const std::vector<ValuePtr>& args);
// The current exception as a value, which is then cleared; null if its arguments are not constants.
ValuePtr take_set_exception(Tracer& tracer);
// A real exception with the same text, for str() and, if `for_repr`, for repr(); null if unknown.
Ref text_model(Tracer& tracer, const ValuePtr& value, bool for_repr);
// Returns true if an except clause of these classes catches the exception. Anything but exception classes raises here.
bool matches_clause(Tracer& tracer, const ValuePtr& exception, const ValuePtr& classes);
// The exception to raise for an instance or a class; null if only the interpreter can create it.
ValuePtr exception_to_raise(Tracer& tracer, const ValuePtr& operand);
// Raises without changing the context of any exception.
[[noreturn]] void raise_again(const ValuePtr& exception);

// --- state of an exception besides its arguments (exception_state.cpp)
// Sets the innermost exception being handled as the context.
void set_context(Tracer& tracer, const ValuePtr& exception);
void set_cause(InstanceValue& exception, const ValuePtr& cause);
// An attribute defined by BaseException, read through the descriptor of the type, which is guarded; null if unknown, or
// another attribute.
ValuePtr exception_field(Tracer& tracer, const ValuePtr& exception, BorrowedRef name, const ValuePtr& descriptor);
// Returns false if left to the interpreter. Requires that the type sets attributes as object does.
bool set_exception_field(Tracer& tracer, const ValuePtr& exception, BorrowedRef name, const ValuePtr& value);

// --- exception groups (exception_groups.cpp)
bool is_group_class(PyTypeObject* type);
// The result of calling the class.
ValuePtr make_group(Tracer& tracer, const ValuePtr& type, const CallArgs& args);

// Returns true for BaseException's descriptor of `args`.
bool is_args_descriptor(const ValuePtr& value);
bool is_exception_class(PyTypeObject* type);

// As raise_here, for a known exception: unwinds to the handler, if there is one (exceptions.cpp).
[[noreturn]] void raise_exception(Tracer& tracer, const ValuePtr& exception);
[[noreturn]] void raise_known(Tracer& tracer, PyObject* type, const std::vector<ValuePtr>& args);
[[noreturn]] void raise_current(Tracer& tracer);  // what the same operation raised during the trace
// Unwinds to the handler of an exception of the trace, in one of the frames from this depth on. Returns false, without
// any change, if there is none.
bool unwind(Tracer& tracer, const ValuePtr& exception, size_t depth);

}  // namespace md
