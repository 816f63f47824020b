// CPython 3.11: prev_instr is the unit before the next instruction; the caller clears a finished frame.
#ifndef Py_BUILD_CORE
#define Py_BUILD_CORE 1
#endif
#include "cpython/frame.h"

#undef _PyGC_FINALIZED
#include "internal/pycore_ceval.h"
#include "internal/pycore_frame.h"
#include "internal/pycore_interp.h"
#include "internal/pycore_pystate.h"

void pv_install(PvHook hook) {
  PyInterpreterState* interp = PyInterpreterState_Get();
  _PyInterpreterState_SetEvalFrameFunc(interp, hook != NULL ? hook : _PyEval_EvalFrameDefault);
}

PvHook pv_installed(void) {
  PvHook hook = _PyInterpreterState_GetEvalFrameFunc(PyInterpreterState_Get());
  return hook == _PyEval_EvalFrameDefault ? NULL : hook;
}

PyObject* pv_default(PyThreadState* ts, PvFrame* frame, int throwflag) {
  return _PyEval_EvalFrameDefault(ts, frame, throwflag);
}

PyCodeObject* pv_code(PvFrame* frame) { return frame->f_code; }
PyObject* pv_func(PvFrame* frame) { return (PyObject*)frame->f_func; }
PyObject* pv_globals(PvFrame* frame) { return frame->f_globals; }
PyObject* pv_builtins(PvFrame* frame) { return frame->f_builtins; }
PyObject* pv_locals_mapping(PvFrame* frame) { return frame->f_locals; }
int pv_is_generator(PvFrame* frame) { return frame->owner == FRAME_OWNED_BY_GENERATOR; }
int pv_has_object(PvFrame* frame) { return frame->frame_obj != NULL; }
int pv_next(PvFrame* frame) { return _PyInterpreterFrame_LASTI(frame) + 1; }
int pv_depth(PvFrame* frame) { return frame->stacktop - frame->f_code->co_nlocalsplus; }
PyObject* pv_position(int unit) { return PyLong_FromLong(unit); }
PyObject* pv_get(PvFrame* frame, int slot) { return frame->localsplus[slot]; }

void pv_put(PvFrame* frame, int slot, PyObject* stolen) { frame->localsplus[slot] = stolen; }
void pv_set_next(PvFrame* frame, int unit) { frame->prev_instr = _PyCode_CODE(frame->f_code) + unit - 1; }
void pv_set_current(PvFrame* frame, int unit) { frame->prev_instr = _PyCode_CODE(frame->f_code) + unit; }
void pv_set_depth(PvFrame* frame, int depth) { frame->stacktop = frame->f_code->co_nlocalsplus + depth; }
void pv_hide_stack(PvFrame* frame) { frame->stacktop = -1; }

// The caller's cframe is reused, so that use_tracing propagates by itself.
void pv_link(PyThreadState* ts, PvFrame* frame) {
  frame->is_entry = true;
  frame->previous = ts->cframe->current_frame;
  ts->cframe->current_frame = frame;
}

void pv_unlink(PyThreadState* ts, PvFrame* frame) {
  ts->cframe->current_frame = frame->previous;
  frame->previous = NULL;
}

int pv_enter(PyThreadState* ts) {
  if (ts->recursion_remaining <= 0) return -1;
  ts->recursion_remaining--;
  return 0;
}

void pv_leave(PyThreadState* ts) { ts->recursion_remaining++; }
PyObject** pv_exc_slot(PyThreadState* ts) { return &ts->exc_info->exc_value; }

int pv_handle_pending(PyThreadState* ts) {
  struct _ceval_state* ceval = &ts->interp->ceval;
  if (!_Py_atomic_load_relaxed(&ceval->eval_breaker)) return 0;
  if (ts->async_exc != NULL || _Py_atomic_load_relaxed(&ceval->pending.calls_to_do)) return 1;
  if (PyErr_CheckSignals() < 0) return -1;
  if (_Py_atomic_load_relaxed(&ceval->gil_drop_request)) PyEval_RestoreThread(PyEval_SaveThread());
  return 0;
}

static PyObject* leave(PyThreadState* ts, PvFrame* frame, int depth, int throwflag) {
  pv_set_depth(frame, depth);
  pv_unlink(ts, frame);
  pv_leave(ts);
  return _PyEval_EvalFrameDefault(ts, frame, throwflag);
}

PyObject* pv_eval_rest(PyThreadState* ts, PvFrame* frame, int unit, int depth) {
  pv_set_next(frame, unit);
  return leave(ts, frame, depth, 0);
}

PyObject* pv_eval_throw(PyThreadState* ts, PvFrame* frame, int unit, int depth) {
  pv_set_current(frame, unit);
  return leave(ts, frame, depth, 1);
}

int pv_leave_raised(PyThreadState* ts, PvFrame* frame) {
  (void)ts;
  (void)frame;
  return 0;
}

PvFrame* pv_generator_frame(PyObject* generator) {
  PyGenObject* gen = (PyGenObject*)generator;
  return gen->gi_frame_state < FRAME_COMPLETED ? (PvFrame*)gen->gi_iframe : NULL;
}

int pv_generator_started(PyObject* generator) { return ((PyGenObject*)generator)->gi_frame_state != FRAME_CREATED; }
