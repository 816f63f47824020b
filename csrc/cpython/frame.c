// What the frames of all versions have in common; py3XX.c holds the differences.
#ifndef Py_BUILD_CORE
#define Py_BUILD_CORE 1
#endif
#include "cpython/frame.h"
#include "cpython/stack_room.h"

#undef _PyGC_FINALIZED
#include "internal/pycore_ceval.h"
#include "internal/pycore_frame.h"
#include "internal/pycore_interp.h"
#include "internal/pycore_pystate.h"
#if PY_VERSION_HEX >= 0x030E0000
#include "internal/pycore_genobject.h"
#include "internal/pycore_interpframe.h"
#endif

void pv_install(PvHook hook) {
  PyInterpreterState* interp = PyInterpreterState_Get();
  _PyInterpreterState_SetEvalFrameFunc(interp, hook != NULL ? hook : _PyEval_EvalFrameDefault);
}

PvHook pv_installed(void) {
  PvHook hook = PyThreadState_Get()->interp->eval_frame;
  return hook == _PyEval_EvalFrameDefault ? NULL : hook;
}

/* Under a hook each call of a Python function enters the evaluator, which 3.12 and 3.13 count as a C recursion; without
   a hook it does not. Where the stack suffices, it is not counted here either. */
#if PY_VERSION_HEX >= 0x030C0000 && PY_VERSION_HEX < 0x030E0000
static PyObject* evaluate(PyThreadState* ts, PvFrame* frame, int throwflag) {
  enum { kUnitsOfEvaluator = 2 };
  int units = pv_has_stack_room() ? kUnitsOfEvaluator : 0;
  ts->c_recursion_remaining += units;
  PyObject* result = _PyEval_EvalFrameDefault(ts, frame, throwflag);
  ts->c_recursion_remaining -= units;
  return result;
}
#else
static PyObject* evaluate(PyThreadState* ts, PvFrame* frame, int throwflag) {
  return _PyEval_EvalFrameDefault(ts, frame, throwflag);
}
#endif

PyObject* pv_default(PyThreadState* ts, PvFrame* frame, int throwflag) { return evaluate(ts, frame, throwflag); }

PyObject* pv_globals(PvFrame* frame) { return frame->f_globals; }
PyObject* pv_builtins(PvFrame* frame) { return frame->f_builtins; }
PyObject* pv_locals_mapping(PvFrame* frame) { return frame->f_locals; }
int pv_is_generator(PvFrame* frame) { return frame->owner == FRAME_OWNED_BY_GENERATOR; }
int pv_has_object(PvFrame* frame) { return frame->frame_obj != NULL; }
PyObject** pv_exc_slot(PyThreadState* ts) { return &ts->exc_info->exc_value; }

static PyObject* leave(PyThreadState* ts, PvFrame* frame, int depth, int throwflag) {
  pv_set_depth(frame, depth);
  pv_unlink(ts, frame);
  pv_leave(ts);
  return evaluate(ts, frame, throwflag);
}

PyObject* pv_eval_rest(PyThreadState* ts, PvFrame* frame, int unit, int depth) {
  pv_set_next(frame, unit);
  return leave(ts, frame, depth, 0);
}

PyObject* pv_eval_throw(PyThreadState* ts, PvFrame* frame, int unit, int depth) {
  pv_set_current(frame, unit);
  return leave(ts, frame, depth, 1);
}

// The function that clears a frame is exported since 3.13.
#if PY_VERSION_HEX >= 0x030D0000

int pv_leave_raised(PyThreadState* ts, PvFrame* frame) {
  pv_set_depth(frame, 0);
  pv_unlink(ts, frame);
  pv_leave(ts);
  _PyEval_FrameClearAndPop(ts, frame);
  return 1;
}

#else

int pv_leave_raised(PyThreadState* ts, PvFrame* frame) {
  (void)ts;
  (void)frame;
  return 0;
}

#endif

// gi_iframe is the frame itself: typed as such on 3.14, as raw storage before.
PvFrame* pv_generator_frame(PyObject* generator) {
  PyGenObject* gen = (PyGenObject*)generator;
  return gen->gi_frame_state < FRAME_COMPLETED ? (PvFrame*)&gen->gi_iframe : NULL;
}

int pv_generator_started(PyObject* generator) { return ((PyGenObject*)generator)->gi_frame_state != FRAME_CREATED; }
