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

PyCodeObject* pv_code(PvFrame* frame) { return frame->f_code; }
PyObject* pv_func(PvFrame* frame) { return (PyObject*)frame->f_func; }
int pv_next(PvFrame* frame) { return _PyInterpreterFrame_LASTI(frame) + 1; }
int pv_depth(PvFrame* frame) { return frame->stacktop - frame->f_code->co_nlocalsplus; }
PyObject* pv_position(int unit) { return PyLong_FromLong(unit); }
PyObject* pv_get(PvFrame* frame, int slot) { return frame->localsplus[slot]; }
PyObject** pv_slots(PvFrame* frame) { return frame->localsplus; }

void pv_put(PvFrame* frame, int slot, PyObject* stolen) { frame->localsplus[slot] = stolen; }
void pv_set_next(PvFrame* frame, int unit) { frame->prev_instr = _PyCode_CODE(frame->f_code) + unit - 1; }
void pv_set_current(PvFrame* frame, int unit) { frame->prev_instr = _PyCode_CODE(frame->f_code) + unit; }
void pv_set_depth(PvFrame* frame, int depth) { frame->stacktop = frame->f_code->co_nlocalsplus + depth; }
void pv_hide_stack(PvFrame* frame) { frame->stacktop = -1; }

// The caller's cframe is reused, so use_tracing propagates by itself.
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

void pv_note_evaluation(PyThreadState* ts, PvEvaluation* evaluation) {
  *evaluation = (PvEvaluation){.outer = ts->cframe, .calls = ts->recursion_remaining};
}

void pv_drop_evaluation(PyThreadState* ts, const PvEvaluation* evaluation) {
  _PyCFrame* outer = evaluation->outer;
  outer->use_tracing = ts->cframe->use_tracing;
  ts->cframe = outer;
  ts->recursion_remaining = evaluation->calls;
}

int pv_has_pending(PyThreadState* ts) { return _Py_atomic_load_relaxed(&ts->interp->ceval.eval_breaker); }

int pv_handle_pending(PyThreadState* ts) {
  struct _ceval_state* ceval = &ts->interp->ceval;
  if (!pv_has_pending(ts)) return 0;
  if (ts->async_exc != NULL) return 1;
  if (Py_MakePendingCalls() < 0) return -1; /* signals first */
  if (_Py_atomic_load_relaxed(&ceval->gil_drop_request)) PyEval_RestoreThread(PyEval_SaveThread());
  return 0;
}
