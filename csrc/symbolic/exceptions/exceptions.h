// Exceptions that the trace makes, raises and catches itself.
//  1. Only Python gives an exception its traceback and context. Where a raised one would be seen from outside (it is left in a slot,
//     handled while the region ends, or leaves the region), the trace starts again and ends before it is raised.
//  2. A frame that is left by an exception is left as Python leaves it: by its handlers, innermost first.
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

// An instance of an exception class, made by the trace; null: a value of another kind.
InstanceValue* exception_of(const ValuePtr& value);
// What BaseException.__new__ makes. Null: the class makes its exceptions in another way.
Handle<InstanceValue> new_exception(Tracer& tracer, const ValuePtr& type, const std::vector<ValuePtr>& args);
// The user's __init__ of its class; null: BaseException's own, which keeps the arguments.
ValuePtr exception_init(Tracer& tracer, const Handle<InstanceValue>& exception);
// Both where there is nothing of the user's to run; null otherwise.
ValuePtr make_exception(Tracer& tracer, const ValuePtr& type, const std::vector<ValuePtr>& args);
// The same for the exception that is set, which is cleared; null: it is not made of constants.
ValuePtr take_set_exception(Tracer& tracer);
// A real exception with the same text, for str() and, where `for_repr`, for repr(); null: not known.
Ref text_model(Tracer& tracer, const ValuePtr& value, bool for_repr);
// Whether an except clause of these classes takes an exception of this type. Anything but exception classes is an error of Python's.
bool matches_clause(Tracer& tracer, const ValuePtr& exception, const ValuePtr& classes);
// An exception to raise, from an instance or a class; null: only Python can make it.
ValuePtr exception_to_raise(Tracer& tracer, const ValuePtr& operand);
// Without becoming the context of anything, or getting one.
[[noreturn]] void raise_again(const ValuePtr& exception);

// --- what is known of an exception but its arguments (exception_state.cpp)
// It is raised while the innermost handled one is handled.
void set_context(Tracer& tracer, const ValuePtr& exception);
void set_cause(InstanceValue& exception, const ValuePtr& cause);
// An attribute that BaseException has; null: not known, or not one of these. The descriptor that the type has, guarded.
ValuePtr exception_field(Tracer& tracer, const ValuePtr& exception, BorrowedRef name, const ValuePtr& descriptor);
// False: left to Python. The type's way of setting attributes is object's own.
bool set_exception_field(Tracer& tracer, const ValuePtr& exception, BorrowedRef name, const ValuePtr& value);

// --- exception groups (exception_groups.cpp)
bool is_group_class(PyTypeObject* type);
// What calling the class gives.
ValuePtr make_group(Tracer& tracer, const ValuePtr& type, const CallArgs& args);

// What keeps `args` in BaseException.
bool is_args_descriptor(const ValuePtr& value);
bool is_exception_class(PyTypeObject* type);

// As raise_here, where the exception is known: it goes on to the handler that takes it, if one does (exceptions.cpp).
[[noreturn]] void raise_exception(Tracer& tracer, const ValuePtr& exception);
[[noreturn]] void raise_known(Tracer& tracer, PyObject* type, const std::vector<ValuePtr>& args);
[[noreturn]] void raise_current(Tracer& tracer);  // what the same operation raised while looking ahead
// Lets an exception of the trace's go on to the handler that takes it, in one of the frames from this depth on. False: none does,
// and nothing has changed.
bool unwind(Tracer& tracer, const ValuePtr& exception, size_t depth);

}  // namespace md
