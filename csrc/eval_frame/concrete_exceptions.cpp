// Raising, handlers, with statements.
#include "cpython/errors.h"
#include "cpython/object_protocol.h"
#include "eval_frame/concrete_steps.h"

namespace md {
namespace {

// Reraising adds no traceback entry, and the evaluator's exit from a frame cannot be entered with an exception set: if
// no handler of this frame catches it, the evaluator executes the instruction.
bool is_handled_here(LiveFrame& f) {
  return f.bytecode().handler_at(f.index()).target >= 0 && !pv_traced(f.thread(), f.raw());
}

StepResult reraised(LiveFrame& f) { return {Outcome::Reraised, f.index()}; }

}  // namespace

StepResult step_PUSH_EXC_INFO(LiveFrame& f, const Instruction&) {
  PyObject** handled = pv_exc_slot(f.thread());
  Ref exception = f.pop();
  Ref previous = Ref::steal(*handled);
  *handled = Py_NewRef(exception.get());
  f.push(previous ? std::move(previous) : Ref::share(Py_None));
  f.push(std::move(exception));
  return next(f);
}

StepResult step_POP_EXCEPT(LiveFrame& f, const Instruction&) {
  PyObject** handled = pv_exc_slot(f.thread());
  Ref previous = f.pop();
  // Since 3.13 "none handled" is NULL only.
  if (PY_VERSION_HEX >= 0x030D0000 && previous.get() == Py_None) previous.reset();
  Ref finished = Ref::steal(*handled);
  *handled = previous.release();
  return next(f);
}

namespace {

bool is_exception_class(PyObject* object) { return PyExceptionClass_Check(object); }

bool can_be_caught(PyObject* match) {
  if (!PyTuple_Check(match)) return is_exception_class(match);
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(match); ++k) {
    if (!is_exception_class(PyTuple_GET_ITEM(match, k))) return false;
  }
  return true;
}

}  // namespace

StepResult step_CHECK_EXC_MATCH(LiveFrame& f, const Instruction&) {
  if (!can_be_caught(f.peek(1))) {
    PyErr_SetString(PyExc_TypeError, "catching classes that do not inherit from BaseException is not allowed");
    return raised(f);
  }
  int matches = PyErr_GivenExceptionMatches(f.peek(2), f.peek(1));
  f.poke(1, Ref::share(matches ? Py_True : Py_False));
  return next(f);
}

namespace {

// Reraises the exception on top of the stack.
StepResult reraise_top(LiveFrame& f) {
  if (!is_handled_here(f)) return ends(f);
  set_raised(f.pop());
  return reraised(f);
}

}  // namespace

// An async for loop ends with StopAsyncIteration from its iterator.
StepResult step_END_ASYNC_FOR(LiveFrame& f, const Instruction&) {
  if (!PyErr_GivenExceptionMatches(f.peek(1), PyExc_StopAsyncIteration)) return reraise_top(f);
  f.drop(2);
  return next(f);
}

// throw() into a delegating generator: the sub-iterator's return value is in its StopIteration.
StepResult step_CLEANUP_THROW(LiveFrame& f, const Instruction&) {
  BorrowedRef exception = f.peek(1);
  if (!PyErr_GivenExceptionMatches(exception, PyExc_StopIteration)) return reraise_top(f);
  auto* stop = reinterpret_cast<PyStopIterationObject*>(exception.get());
  Ref value = Ref::share(stop->value != nullptr ? stop->value : Py_None);
  f.drop(2);
  f.poke(1, Ref::share(Py_None));
  f.push(std::move(value));
  return next(f);
}

// StopIteration must not leave a generator.
StepResult step_STOPITERATION_ERROR(LiveFrame& f, const Instruction&) {
  BorrowedRef exception = f.peek(1);
  int flags = f.bytecode().code()->co_flags;
  bool is_async = (flags & CO_ASYNC_GENERATOR) != 0;
  const char* message = nullptr;
  if (PyErr_GivenExceptionMatches(exception, PyExc_StopIteration)) {
    message = is_async                      ? "async generator raised StopIteration"
              : (flags & CO_COROUTINE) != 0 ? "coroutine raised StopIteration"
                                            : "generator raised StopIteration";
  } else if (is_async && PyErr_GivenExceptionMatches(exception, PyExc_StopAsyncIteration)) {
    message = "async generator raised StopAsyncIteration";
  }
  if (message == nullptr) return next(f);
  Ref text = Ref::steal(PyUnicode_FromString(message));
  Ref error = text ? Ref::steal(PyObject_CallOneArg(PyExc_RuntimeError, text)) : Ref();
  if (!error) return raised(f);
  PyException_SetCause(error, Py_NewRef(exception.get()));
  PyException_SetContext(error, Py_NewRef(exception.get()));
  return finish(f, 1, error.release());
}

StepResult step_RERAISE(LiveFrame& f, const Instruction& i) {
  if (!is_handled_here(f)) return ends(f);
  Ref exception = f.pop();
  // Position where it was first raised in this frame.
  BorrowedRef position = i.arg > 0 ? f.peek(i.arg) : BorrowedRef();
  if (position && PyLong_Check(position.get())) f.set_current_unit(static_cast<int>(PyLong_AsLong(position)));
  set_raised(std::move(exception));
  return reraised(f);
}

namespace {

// The exception or cause to raise: an instance is used as it is, a class is called. Returns null with an exception set.
Ref exception_instance(PyObject* object) {
  if (!is_exception_class(object)) return Ref::share(object);
  Ref instance = Ref::steal(PyObject_CallNoArgs(object));
  if (instance && !PyExceptionInstance_Check(instance.get())) {
    PyErr_Format(PyExc_TypeError, "calling %R should have returned an instance of BaseException, not %R", object,
                 Py_TYPE(instance.get()));
    return {};
  }
  return instance;
}

bool is_exception(PyObject* object) { return is_exception_class(object) || PyExceptionInstance_Check(object); }

// 3.11 accepts any result of calling a cause's class.
Ref cause_instance(PyObject* cause) {
  if (PY_VERSION_HEX < 0x030C0000 && is_exception_class(cause)) return Ref::steal(PyObject_CallNoArgs(cause));
  return exception_instance(cause);
}

StepResult raise_again(LiveFrame& f) {
  Ref handled = Ref::steal(PyErr_GetHandledException());
  if (!handled || handled.get() == Py_None) {
    PyErr_SetString(PyExc_RuntimeError, "No active exception to reraise");
    return raised(f);
  }
  if (!is_handled_here(f)) return ends(f);
  set_raised(std::move(handled));
  return reraised(f);
}

}  // namespace

StepResult step_RAISE_VARARGS(LiveFrame& f, const Instruction& i) {
  if (i.arg == 0) return raise_again(f);
  BorrowedRef cause = i.arg == 2 ? f.peek(1) : BorrowedRef();
  BorrowedRef exception = f.peek(i.arg);
  if (!is_exception(exception)) {
    PyErr_SetString(PyExc_TypeError, "exceptions must derive from BaseException");
    return raised(f);
  }
  Ref type =
      Ref::share(is_exception_class(exception) ? exception.get() : reinterpret_cast<PyObject*>(exception.type()));
  Ref value = exception_instance(exception);
  if (!value) return raised(f);
  if (cause && cause.get() != Py_None && !is_exception(cause)) {
    PyErr_SetString(PyExc_TypeError, "exception causes must derive from BaseException");
    return raised(f);
  }
  if (cause) {
    Ref fixed = cause.get() == Py_None ? Ref() : cause_instance(cause);
    if (!fixed && cause.get() != Py_None) return raised(f);
    PyException_SetCause(value, fixed.release());
  }
  PyErr_SetObject(type, value);
  return raised(f);
}

// ---- with

namespace {

struct ManagerProtocol {
  const char* name;
  PyObject* enter;  // interned, for the life of the process
  PyObject* exit;
};

// Returns false with an exception set if the method is missing or its lookup raised.
bool find_manager_method(PyObject* manager, const ManagerProtocol& protocol, PyObject* name, Ref& method) {
  method = Ref::steal(pv_lookup_special(manager, name));
  if (method) return true;
  if (PyErr_Occurred()) return false;
  const char* type_name = Py_TYPE(manager)->tp_name;
  if (name == protocol.enter) {
    PyErr_Format(PyExc_TypeError, "'%.200s' object does not support the %s protocol", type_name, protocol.name);
  } else {
    PyErr_Format(PyExc_TypeError, "'%.200s' object does not support the %s protocol (missed %U method)", type_name,
                 protocol.name, name);
  }
  return false;
}

StepResult enter_manager(LiveFrame& f, const ManagerProtocol& protocol) {
  PyObject* manager = f.peek(1);
  // 3.14 looks up __exit__ first, and has its own messages if one of the two is missing.
  bool exit_first = PY_VERSION_HEX >= 0x030E0000;
  if (exit_first)
    for (PyObject* name : {protocol.enter, protocol.exit})
      if (_PyType_Lookup(Py_TYPE(manager), name) == nullptr) return evaluator(f);
  Ref first, second;
  if (!find_manager_method(manager, protocol, exit_first ? protocol.exit : protocol.enter, first)) return raised(f);
  if (!find_manager_method(manager, protocol, exit_first ? protocol.enter : protocol.exit, second)) return raised(f);
  if (exit_first) std::swap(first, second);
  Ref entered = Ref::steal(PyObject_CallNoArgs(first));
  if (!entered) return raised(f);
  f.poke(1, std::move(second));
  f.push(std::move(entered));
  return next(f);
}

}  // namespace

StepResult step_BEFORE_WITH(LiveFrame& f, const Instruction&) {
  static PyObject* const enter = PyUnicode_InternFromString("__enter__");
  static PyObject* const exit = PyUnicode_InternFromString("__exit__");
  return enter_manager(f, {"context manager", enter, exit});
}
StepResult step_BEFORE_ASYNC_WITH(LiveFrame& f, const Instruction&) {
  static PyObject* const enter = PyUnicode_InternFromString("__aenter__");
  static PyObject* const exit = PyUnicode_InternFromString("__aexit__");
  return enter_manager(f, {"asynchronous context manager", enter, exit});
}

StepResult step_WITH_EXCEPT_START(LiveFrame& f, const Instruction& i) {
  // From the top: exception, previously handled exception, position, self of __exit__ (since 3.14), __exit__.
  PyObject* exception = f.peek(1);
  Ref traceback = Ref::steal(PyException_GetTraceback(exception));
  PyObject* self = i.arg == 5 ? f.peek(4).get() : nullptr;
  PyObject* arguments[] = {nullptr, self, reinterpret_cast<PyObject*>(Py_TYPE(exception)), exception,
                           traceback ? traceback.get() : Py_None};
  int first = self != nullptr ? 1 : 2;
  size_t count = (self != nullptr ? 4 : 3) | PY_VECTORCALL_ARGUMENTS_OFFSET;
  return finish(f, 0, PyObject_Vectorcall(f.peek(i.arg), arguments + first, count, nullptr));
}

}  // namespace md
