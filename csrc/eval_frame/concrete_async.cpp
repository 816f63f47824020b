// Awaitables and asynchronous iterators.
#include "cpython/errors.h"
#include "eval_frame/concrete_steps.h"

namespace md {
namespace {

bool is_coroutine(PyObject* object) {
  if (PyCoro_CheckExact(object)) return true;
  if (!PyGen_CheckExact(object)) return false;
  Ref code = Ref::steal(PyObject_GetAttrString(object, "gi_code"));
  return (reinterpret_cast<PyCodeObject*>(code.get())->co_flags & CO_ITERABLE_COROUTINE) != 0;
}

PyAsyncMethods* async_methods(PyObject* object) {
  static PyAsyncMethods none{};
  PyAsyncMethods* methods = Py_TYPE(object)->tp_as_async;
  return methods != nullptr ? methods : &none;
}

bool is_awaitable(PyObject* object) { return is_coroutine(object) || async_methods(object)->am_await != nullptr; }

// The iterator used by `await`; returns null with an exception set.
Ref awaitable_iterator(PyObject* object) {
  if (is_coroutine(object)) return Ref::share(object);
  if (async_methods(object)->am_await == nullptr) {
    PyErr_Format(PyExc_TypeError, "object %.100s can't be used in 'await' expression", Py_TYPE(object)->tp_name);
    return {};
  }
  Ref iterator = Ref::steal(async_methods(object)->am_await(object));
  if (!iterator) return {};
  if (is_coroutine(iterator)) {
    PyErr_SetString(PyExc_TypeError, "__await__() returned a coroutine");
    return {};
  }
  if (!PyIter_Check(iterator.get())) {
    PyErr_Format(PyExc_TypeError, "__await__() returned non-iterator of type '%.100s'", iterator.type()->tp_name);
    return {};
  }
  return iterator;
}

// Returns false with an exception set if another await is using it.
bool may_be_awaited(PyObject* coroutine) {
  Ref awaited = Ref::steal(PyObject_GetAttrString(coroutine, "cr_await"));
  if (awaited && awaited.get() != Py_None) PyErr_SetString(PyExc_RuntimeError, "coroutine is being awaited already");
  return awaited.get() == Py_None;
}

}  // namespace

StepResult step_GET_AWAITABLE(LiveFrame& f, const Instruction&) {
  // The error message depends on the origin of the object.
  if (!is_awaitable(f.peek(1))) return evaluator(f);
  Ref iterator = awaitable_iterator(f.peek(1));
  if (!iterator) return raised(f);
  if (PyCoro_CheckExact(iterator.get()) && !may_be_awaited(iterator)) return raised(f);
  return finish(f, 1, iterator.release());
}

StepResult step_GET_AITER(LiveFrame& f, const Instruction&) {
  unaryfunc get = async_methods(f.peek(1))->am_aiter;
  if (get == nullptr) return evaluator(f);
  Ref iterator = Ref::steal(get(f.peek(1)));
  if (!iterator) return raised(f);
  if (async_methods(iterator)->am_anext == nullptr) {
    PyErr_Format(PyExc_TypeError,
                 "'async for' received an object from __aiter__ that does not implement __anext__: %.100s",
                 iterator.type()->tp_name);
    return raised(f);
  }
  return finish(f, 1, iterator.release());
}

namespace {

// The current exception becomes the cause of the TypeError.
void set_invalid_next(PyObject* found) {
  Ref cause = take_raised();
  PyErr_Format(PyExc_TypeError, "'async for' received an invalid object from __anext__: %.100s",
               Py_TYPE(found)->tp_name);
  Ref error = take_raised();
  PyException_SetCause(error, Py_NewRef(cause.get()));
  PyException_SetContext(error, cause.release());
  set_raised(std::move(error));
}

}  // namespace

StepResult step_GET_ANEXT(LiveFrame& f, const Instruction&) {
  PyObject* iterator = f.peek(1);
  unaryfunc get = async_methods(iterator)->am_anext;
  if (get == nullptr) return evaluator(f);
  Ref next_value = Ref::steal(get(iterator));
  if (!next_value) return raised(f);
  if (PyAsyncGen_CheckExact(iterator)) return finish(f, 0, next_value.release());
  Ref awaitable = awaitable_iterator(next_value);
  if (!awaitable) {
    set_invalid_next(next_value);
    return raised(f);
  }
  return finish(f, 0, awaitable.release());
}

}  // namespace md
