// Context, cause, traceback and notes of exceptions created in the trace, and the one being handled.
//   1. The exception that the thread handles at the region's start is unknown. Where it matters it must be none, which
//      is guarded.
//   2. Only the interpreter has a traceback; the trace knows whether one exists.
#include "cpython/imports.h"
#include "guards/guard_set.h"
#include "symbolic/attributes/attributes.h"
#include "symbolic/breaks/break_reason.h"
#include "symbolic/breaks/outcomes.h"
#include "symbolic/effects/pending_writes.h"
#include "symbolic/exceptions/exceptions.h"
#include "symbolic/facts/value_facts.h"
#include "symbolic/trace/registry.h"

#include <unordered_set>

namespace md {

namespace {

// Returns true if this is BaseException's own descriptor of the name.
bool is_base_descriptor(const ValuePtr& descriptor, BorrowedRef name) {
  auto* known = as<ObjectValue>(descriptor);
  return known != nullptr &&
         known->object.get() == _PyType_Lookup(reinterpret_cast<PyTypeObject*>(PyExc_BaseException), name);
}

bool is_named(BorrowedRef name, const char* text) { return PyUnicode_CompareWithASCIIString(name, text) == 0; }

void require_nothing_handled(Tracer& tracer) {
  Ref handled = Ref::steal(PyErr_GetHandledException());
  if (handled && handled.get() != Py_None)
    graph_break(BreakReason::unknown_c_function, "what is handled when the region starts");
  tracer.guards().absent(tracer.sources().get(SourceKind::HandledException, nullptr, nullptr));
}

// Null: none is handled.
ValuePtr handled_now(Tracer& tracer) {
  if (!tracer.frames().handled().empty()) return tracer.frames().handled().back();
  require_nothing_handled(tracer);
  return nullptr;
}

ValuePtr call_exception(Tracer& tracer, const CallArgs& args) {
  require_count(args, 0, 0);
  ValuePtr handled = handled_now(tracer);
  return handled ? handled : tracer.values().none();
}

ValuePtr call_exc_info(Tracer& tracer, const CallArgs& args) {
  require_count(args, 0, 0);
  ValuePtr handled = handled_now(tracer);
  std::vector<ValuePtr> parts(3, tracer.values().none());
  if (handled) parts = {type_value(tracer, handled), handled, make_value<RaisedPartValue>(handled, true)};
  return make_value<SequenceValue>(false, std::move(parts));
}

ValuePtr call_add_note(Tracer& tracer, const CallArgs& args) {
  static PyObject* const kNotes = PyUnicode_InternFromString("__notes__");
  require_method_count(args, 1, 1);
  InstanceValue* exception = exception_of(args.positional[0]);
  if (exception == nullptr) graph_break(BreakReason::unknown_c_function, "add_note");
  if (tracer.values().exact_type(args.positional[1]) != &PyUnicode_Type) raise_here();
  ValuePtr* notes = exception->find(kNotes);
  if (notes == nullptr) {
    exception->attributes.emplace_back(Ref::share(kNotes),
                                       make_value<SequenceValue>(true, std::vector<ValuePtr>{args.positional[1]}));
    return tracer.values().none();
  }
  if (!tracer.values().is_exactly(*notes, &PyList_Type) || !list_append(tracer, *notes, args.positional[1]))
    graph_break(BreakReason::unknown_c_function, "add_note");
  return tracer.values().none();
}

}  // namespace

void set_context(Tracer& tracer, const ValuePtr& value) {
  if (tracer.frames().handled().empty()) return;
  const ValuePtr& handled = tracer.frames().handled().back();
  if (handled == value) return;
  // Breaks the chain where it would become a cycle, as Python does. The program may have created a cycle before.
  std::unordered_set<const InstanceValue*> met;
  InstanceValue* at = exception_of(handled);
  while (at != nullptr && at->exception->context != value && met.insert(at).second)
    at = exception_of(at->exception->context);
  if (at != nullptr && at->exception->context == value) at->exception->context = nullptr;
  exception_of(value)->exception->context = handled;
}

void set_cause(InstanceValue& exception, const ValuePtr& cause) {
  exception.exception->cause = cause;
  exception.exception->suppresses_context = true;
}

ValuePtr exception_field(Tracer& tracer, const ValuePtr& value, BorrowedRef name, const ValuePtr& descriptor) {
  if (!is_base_descriptor(descriptor, name)) return nullptr;
  if (source_of(descriptor) != nullptr) tracer.values().identity_of(descriptor);
  const ExceptionState& state = *exception_of(value)->exception;
  auto or_none = [&](const ValuePtr& part) { return part ? part : tracer.values().none(); };
  if (is_named(name, "__cause__")) return or_none(state.cause);
  if (is_named(name, "__suppress_context__")) return tracer.values().boolean(state.suppresses_context);
  if (is_named(name, "__context__")) {
    if (!state.context && state.raised_step != 0) require_nothing_handled(tracer);
    return or_none(state.context);
  }
  // Whether a group that Python itself creates has a traceback depends on the version.
  if (!is_named(name, "__traceback__") || is_group_class(type_of(value))) return nullptr;
  return state.raised_step != 0 ? ValuePtr(make_value<RaisedPartValue>(value, true)) : tracer.values().none();
}

bool set_exception_field(Tracer& tracer, const ValuePtr& value, BorrowedRef name, const ValuePtr& to) {
  ExceptionState& state = *exception_of(value)->exception;
  auto* part = as<RaisedPartValue>(to);
  // contextlib does this: visible only to the interpreter, which then raises the exception itself.
  if (is_named(name, "__traceback__")) return part != nullptr && part->is_traceback && part->exception == value;
  bool is_none = same_object(tracer, to, tracer.values().none());
  if (!is_none && exception_of(to) == nullptr) return false;
  ValuePtr exception = is_none ? ValuePtr() : to;
  if (is_named(name, "__cause__")) {
    set_cause(*exception_of(value), exception);
    return true;
  }
  if (!is_named(name, "__context__")) return false;
  // Without an exception, the one handled by the thread outside the region would be used.
  if (!exception) require_nothing_handled(tracer);
  state.context = exception;
  return true;
}

namespace {

void add_exception_state_calls() {
  register_call(imported("sys", "exc_info").get(), call_exc_info);
  register_call(imported("sys", "exception").get(), call_exception);
  register_call(check(PyObject_GetAttrString(PyExc_BaseException, "add_note")).get(), call_add_note);
}

const CallRegistration call_registration(add_exception_state_calls);

}  // namespace

}  // namespace md
