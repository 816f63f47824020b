// CPython 3.14: slots are tagged stack references; instr_ptr is the instruction being executed or about to be; the
// evaluator clears a finished frame; C stack use is measured by address.
#ifndef Py_BUILD_CORE
#define Py_BUILD_CORE 1
#endif
#include "cpython/frame.h"

#undef _PyGC_FINALIZED
#include "internal/pycore_ceval.h"
#include "internal/pycore_frame.h"
#include "internal/pycore_interp.h"
#include "internal/pycore_interpframe.h"
#include "internal/pycore_pystate.h"
#include "internal/pycore_stackref.h"

PyCodeObject* pv_code(PvFrame* frame) { return _PyFrame_GetCode(frame); }
PyObject* pv_func(PvFrame* frame) {
  PyObject* function = PyStackRef_AsPyObjectBorrow(frame->f_funcobj);
  return PyFunction_Check(function) ? function : NULL;
}
int pv_next(PvFrame* frame) { return _PyInterpreterFrame_LASTI(frame); }
int pv_depth(PvFrame* frame) { return (int)(frame->stackpointer - _PyFrame_Stackbase(frame)); }

// A code position on the stack is a tagged int in a frame, and everywhere else an object of
// this type, which acts as an int.
static PyTypeObject* position_type(void) {
  static PyTypeObject* type;
  if (type == NULL) {
    PyType_Slot slots[] = {{0, NULL}};
    PyType_Spec spec = {"minidynamo._CodePosition", 0, 0, Py_TPFLAGS_DEFAULT, slots};
    type = (PyTypeObject*)PyType_FromSpecWithBases(&spec, (PyObject*)&PyLong_Type);
  }
  return type;
}

// One immortal object per position, because a tagged int owns no reference.
static PyObject* position_object(int unit) {
  static PyObject** known;
  static int count;
  if (unit >= count) {
    int wanted = unit < 512 ? 1024 : 2 * unit;
    PyObject** larger = PyMem_RawRealloc(known, wanted * sizeof(PyObject*));
    if (larger == NULL) return PyErr_NoMemory();
    for (int i = count; i < wanted; i++) larger[i] = NULL;
    known = larger;
    count = wanted;
  }
  if (known[unit] == NULL) {
    PyObject* raised = PyErr_GetRaisedException();
    PyTypeObject* type = position_type();
    PyObject* made = type != NULL ? PyObject_CallFunction((PyObject*)type, "i", unit) : NULL;
    if (made == NULL) {
      Py_XDECREF(raised);
      return NULL;
    }
    PyErr_SetRaisedException(raised);
    Py_SET_REFCNT(made, _Py_IMMORTAL_INITIAL_REFCNT);
    known[unit] = made;
  }
  return known[unit];
}

PyObject* pv_position(int unit) { return position_object(unit); }

PyObject* pv_get(PvFrame* frame, int slot) {
  _PyStackRef value = frame->localsplus[slot];
  if (!PyStackRef_IsTaggedInt(value)) return PyStackRef_IsNull(value) ? NULL : PyStackRef_AsPyObjectBorrow(value);
  PyObject* position = position_object((int)PyStackRef_UntagInt(value));
  if (position == NULL) PyErr_Clear();
  return position;
}

PyObject** pv_slots(PvFrame* frame) {
  (void)frame;
  return NULL;
}

void pv_put(PvFrame* frame, int slot, PyObject* stolen) {
  _PyStackRef value;
  if (stolen == NULL)
    value = PyStackRef_NULL;
  else if (Py_TYPE(stolen) == position_type())
    value = PyStackRef_TagInt(PyLong_AsLong(stolen));
  else
    value = PyStackRef_FromPyObjectSteal(stolen);
  frame->localsplus[slot] = value;
}

void pv_set_next(PvFrame* frame, int unit) {
  frame->instr_ptr = _PyFrame_GetBytecode(frame) + unit;
  frame->return_offset = 0;
}
void pv_set_current(PvFrame* frame, int unit) { pv_set_next(frame, unit); }
void pv_set_depth(PvFrame* frame, int depth) { frame->stackpointer = _PyFrame_Stackbase(frame) + depth; }
void pv_hide_stack(PvFrame* frame) { frame->stackpointer = _PyFrame_Stackbase(frame); }

void pv_link(PyThreadState* ts, PvFrame* frame) {
  // Converts the evaluator's borrowed stack references to owned ones, as pv_put stores them.
  for (_PyStackRef* value = _PyFrame_Stackbase(frame); value < frame->stackpointer; value++)
    *value = PyStackRef_MakeHeapSafe(*value);
  frame->previous = ts->current_frame;
  ts->current_frame = frame;
}

void pv_unlink(PyThreadState* ts, PvFrame* frame) {
  ts->current_frame = frame->previous;
  frame->previous = NULL;
}

int pv_enter(PyThreadState* ts) {
  // The margin is for the evaluator, which then raises or continues.
  if (ts->py_recursion_remaining <= 0 || _Py_ReachedRecursionLimitWithMargin(ts, 1)) return -1;
  ts->py_recursion_remaining--;
  return 0;
}

void pv_leave(PyThreadState* ts) { ts->py_recursion_remaining++; }

void pv_note_evaluation(PyThreadState* ts, PvEvaluation* evaluation) {
  *evaluation = (PvEvaluation){.outer = ts->current_frame->previous, .calls = ts->py_recursion_remaining};
}

void pv_drop_evaluation(PyThreadState* ts, const PvEvaluation* evaluation) {
  ts->current_frame = evaluation->outer;
  ts->py_recursion_remaining = evaluation->calls;
}

int pv_has_pending(PyThreadState* ts) {
  return (_Py_atomic_load_uintptr_relaxed(&ts->eval_breaker) & _PY_EVAL_EVENTS_MASK) != 0;
}

int pv_handle_pending(PyThreadState* ts) {
  if (!pv_has_pending(ts)) return 0;
  return _Py_HandlePending(ts) != 0 ? -1 : 0;
}
