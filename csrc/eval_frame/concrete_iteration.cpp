// Iterators and delegation to a sub-iterator.
#include "eval_frame/concrete_steps.h"

namespace md {

StepResult step_GET_ITER(LiveFrame& f, const Instruction&) { return finish(f, 1, PyObject_GetIter(f.peek(1))); }

StepResult step_FOR_ITER(LiveFrame& f, const Instruction& i) {
  PyObject* iterator = f.peek(1);
  // The iterator of a generator expression may have been replaced through f_locals.
  if (Py_TYPE(iterator)->tp_iternext == nullptr) return evaluator(f);
  PyObject* value = Py_TYPE(iterator)->tp_iternext(iterator);
  if (value != nullptr) return finish(f, 0, value);
  if (PyErr_Occurred()) {
    if (!PyErr_ExceptionMatches(PyExc_StopIteration)) return raised(f);
    PyErr_Clear();
  }
  f.pop();
  return {Outcome::Next, i.arg};
}

StepResult step_GET_YIELD_FROM_ITER(LiveFrame& f, const Instruction&) {
  PyObject* iterable = f.peek(1);
  if (PyCoro_CheckExact(iterable)) {
    if (f.bytecode().code()->co_flags & (CO_COROUTINE | CO_ITERABLE_COROUTINE)) return next(f);
    PyErr_SetString(PyExc_TypeError, "cannot 'yield from' a coroutine object in a non-coroutine generator");
    return raised(f);
  }
  return PyGen_CheckExact(iterable) ? next(f) : finish(f, 1, PyObject_GetIter(iterable));
}

StepResult step_SEND(LiveFrame& f, const Instruction& i) {
  PyObject* result = nullptr;
  PySendResult status = PyIter_Send(f.peek(2), f.peek(1), &result);
  if (status == PYGEN_ERROR) return raised(f);
  f.poke(1, Ref::steal(result));
  if (status == PYGEN_NEXT) return next(f);
  // Since 3.12 the sub-iterator stays for END_SEND.
  if (PY_VERSION_HEX < 0x030C0000) {
    Ref value = f.pop();
    f.poke(1, std::move(value));
  }
  return {Outcome::Next, i.arg};
}

StepResult step_END_SEND(LiveFrame& f, const Instruction&) {
  Ref value = f.pop();
  f.poke(1, std::move(value));
  return next(f);
}

}  // namespace md
