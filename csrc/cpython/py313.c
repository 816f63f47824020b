// CPython 3.13: instr_ptr is the instruction being executed or about to be; the evaluator clears a finished frame.
#ifndef Py_BUILD_CORE
#define Py_BUILD_CORE 1
#endif
#include "cpython/frame.h"

#undef _PyGC_FINALIZED
#include "internal/pycore_ceval.h"
#include "internal/pycore_frame.h"
#include "internal/pycore_interp.h"
#include "internal/pycore_pystate.h"

PyCodeObject* pv_code(PvFrame* frame) { return (PyCodeObject*)frame->f_executable; }
PyObject* pv_func(PvFrame* frame) { return PyFunction_Check(frame->f_funcobj) ? frame->f_funcobj : NULL; }
int pv_next(PvFrame* frame) { return _PyInterpreterFrame_LASTI(frame); }
int pv_depth(PvFrame* frame) { return frame->stacktop - pv_code(frame)->co_nlocalsplus; }
PyObject* pv_position(int unit) { return PyLong_FromLong(unit); }
PyObject* pv_get(PvFrame* frame, int slot) { return frame->localsplus[slot]; }
PyObject** pv_slots(PvFrame* frame) { return frame->localsplus; }

void pv_put(PvFrame* frame, int slot, PyObject* stolen) { frame->localsplus[slot] = stolen; }
void pv_set_next(PvFrame* frame, int unit) {
  frame->instr_ptr = _PyCode_CODE(pv_code(frame)) + unit;
  frame->return_offset = 0;
}
void pv_set_current(PvFrame* frame, int unit) { pv_set_next(frame, unit); }
void pv_set_depth(PvFrame* frame, int depth) { frame->stacktop = pv_code(frame)->co_nlocalsplus + depth; }
void pv_hide_stack(PvFrame* frame) { frame->stacktop = -1; }

void pv_link(PyThreadState* ts, PvFrame* frame) {
  frame->previous = ts->current_frame;
  ts->current_frame = frame;
}

void pv_unlink(PyThreadState* ts, PvFrame* frame) {
  ts->current_frame = frame->previous;
  frame->previous = NULL;
}

int pv_enter(PyThreadState* ts) {
  // The evaluator needs two C units to raise or to continue.
  if (ts->py_recursion_remaining <= 0 || ts->c_recursion_remaining <= 2) return -1;
  ts->py_recursion_remaining--;
  return 0;
}

void pv_leave(PyThreadState* ts) { ts->py_recursion_remaining++; }

void pv_note_evaluation(PyThreadState* ts, PvEvaluation* evaluation) {
  *evaluation = (PvEvaluation){ts->current_frame->previous, ts->py_recursion_remaining, ts->c_recursion_remaining};
}

void pv_drop_evaluation(PyThreadState* ts, const PvEvaluation* evaluation) {
  ts->current_frame = evaluation->outer;
  ts->py_recursion_remaining = evaluation->calls;
  ts->c_recursion_remaining = evaluation->c_calls;
}

int pv_has_pending(PyThreadState* ts) {
  return (_Py_atomic_load_uintptr_relaxed(&ts->eval_breaker) & _PY_EVAL_EVENTS_MASK) != 0;
}

int pv_handle_pending(PyThreadState* ts) {
  if (!pv_has_pending(ts)) return 0;
  return _Py_HandlePending(ts) != 0 ? -1 : 0;
}
