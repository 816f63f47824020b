#ifndef Py_BUILD_CORE
#define Py_BUILD_CORE 1
#endif
#include "cpython/lent_loop.h"

#undef _PyGC_FINALIZED
#include <opcode.h>
#include <setjmp.h>

#include "internal/pycore_frame.h"
#if PY_VERSION_HEX >= 0x030E0000
#include "internal/pycore_interpframe.h"
#endif

struct StandIn;

/* Lives on the lender's stack while the evaluator has the loop. */
typedef struct {
  PyThreadState* ts;
  PvFrame* frame;
  PvLoop* loop;
  struct StandIn* stand_in; /* NULL: freed */
  jmp_buf lender;
} Loan;

/* Nothing but the frame's stack refers to it, and its position on the stack is the iterator's. */
typedef struct StandIn {
  PyObject_HEAD PyObject* iterator;
  Loan* loan; /* NULL: over */
} StandIn;

/* A tracer must see the loop end, and what comes then. */
static int may_return(const Loan* loan) { return loan != NULL && pv_traced(loan->ts, loan->frame) == 0; }

static PyObject* stand_in_next(PyObject* self) {
  StandIn* stand_in = (StandIn*)self;
  PyObject* item = Py_TYPE(stand_in->iterator)->tp_iternext(stand_in->iterator);
  if (item != NULL || !may_return(stand_in->loan)) return item;
  if (PyErr_Occurred() != NULL) {
    if (!PyErr_ExceptionMatches(PyExc_StopIteration)) return NULL;
    PyErr_Clear();
  }
  Loan* loan = stand_in->loan;
  stand_in->loan = NULL;
  longjmp(loan->lender, PV_LOOP_EXHAUSTED);
}

static int pops_only(int opcode) {
#ifdef POP_ITER
  if (opcode == POP_ITER) return 1;
#endif
  return opcode == POP_TOP;
}

/* How the loop ends if its iterator is popped now. KEPT: the evaluator goes on. */
static PvLoopEnd end_of(const Loan* loan, int unit) {
  if (PyErr_Occurred() != NULL) return loan->loop->is_handled ? PV_LOOP_RAISED : PV_LOOP_KEPT;
  const unsigned char* code = (const unsigned char*)_PyCode_CODE(pv_code(loan->frame));
  return pops_only(code[2 * unit]) ? PV_LOOP_LEFT : PV_LOOP_KEPT;
}

/* An instruction pops it, or an exception on its way to a handler or out of the frame. */
static void stand_in_dealloc(PyObject* self) {
  Loan* loan = ((StandIn*)self)->loan;
  PyObject* iterator = ((StandIn*)self)->iterator;
  PyObject_Free(self);
  if (loan != NULL) loan->stand_in = NULL;
  Py_DECREF(iterator);
  if (!may_return(loan)) return;
  int unit = _PyInterpreterFrame_LASTI(loan->frame);
  PvLoopEnd end = end_of(loan, unit);
  if (end == PV_LOOP_KEPT) return;
  loan->loop->unit = unit;
  longjmp(loan->lender, (int)end);
}

static PyTypeObject stand_in_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "minidynamo._LoopIterator",
    .tp_basicsize = sizeof(StandIn),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_dealloc = stand_in_dealloc,
    .tp_iter = PyObject_SelfIter,
    .tp_iternext = stand_in_next,
};

/* Takes the iterator; NULL: out of memory. */
static StandIn* stand_in_for(PyObject* iterator, Loan* loan) {
  StandIn* made = PyType_Ready(&stand_in_type) < 0 ? NULL : PyObject_New(StandIn, &stand_in_type);
  if (made == NULL) {
    PyErr_Clear();
    return NULL;
  }
  made->iterator = iterator;
  made->loan = loan;
  return made;
}

PvLoopEnd pv_lend_loop(PyThreadState* ts, PvFrame* frame, PvLoop* loop, PyObject** result) {
  int slot = pv_code(frame)->co_nlocalsplus + loop->depth - 1;
  PyObject* iterator = pv_get(frame, slot);
  if (Py_TYPE(iterator)->tp_iternext == NULL) return PV_LOOP_KEPT;
  Loan loan = {.ts = ts, .frame = frame, .loop = loop};
  loan.stand_in = stand_in_for(iterator, &loan);
  if (loan.stand_in == NULL) return PV_LOOP_KEPT;
  PvEvaluation outer;
  pv_note_evaluation(ts, &outer);
  pv_put(frame, slot, (PyObject*)loan.stand_in);
  PvLoopEnd end = PV_LOOP_RAISED;
  switch (setjmp(loan.lender)) {
    case 0:
      *result = pv_eval_rest(ts, frame, loop->unit, loop->depth);
      if (loan.stand_in != NULL) loan.stand_in->loan = NULL;
      return PV_FRAME_ENDED;
    case PV_LOOP_EXHAUSTED:
      end = PV_LOOP_EXHAUSTED;
      break;
    case PV_LOOP_LEFT:
      end = PV_LOOP_LEFT;
      break;
    default:
      break;
  }
  pv_drop_evaluation(ts, &outer);
  return end;
}
