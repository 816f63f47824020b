// A `for` loop of a frame that we execute, lent to the evaluator: it runs the frame from there on, and gives it back
// where the loop ends. Another iterator stands in for the loop's, and returns to the lender by longjmp(): of the
// evaluator's C frames, nothing but what pv_drop_evaluation() undoes outlives a call.
#pragma once
#include "cpython/frame.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
  PV_LOOP_KEPT,      /* nothing has happened: it cannot be lent */
  PV_LOOP_EXHAUSTED, /* the iterator has ended; it is still on the stack */
  PV_LOOP_LEFT,      /* the iterator was popped */
  PV_FRAME_ENDED,    /* the frame is gone */
} PvLoopEnd;

/* The frame is entered and linked, no generator's, and stands at a FOR_ITER (code unit `unit`) with `depth` values on
   the stack. After EXHAUSTED and LEFT it is entered, and not linked. LEFT: *popped is the unit that popped the iterator.
   ENDED: *result is the frame's result. */
PvLoopEnd pv_lend_loop(PyThreadState* ts, PvFrame* frame, int unit, int depth, int* popped, PyObject** result);

#ifdef __cplusplus
}
#endif
