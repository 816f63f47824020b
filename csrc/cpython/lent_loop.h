// A `for` loop of a frame that we execute, lent to the evaluator: it runs the frame from there on, until the loop
// ends. Another iterator stands in for the loop's, and returns to the lender by longjmp(): of the
// evaluator's C frames, nothing but what pv_drop_evaluation() undoes outlives a call.
#pragma once
#include "cpython/frame.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
  PV_LOOP_KEPT,      /* nothing has happened: it cannot be lent */
  PV_LOOP_EXHAUSTED, /* the iterator has ended; it is still on the stack */
  PV_LOOP_LEFT,      /* an instruction has popped the iterator */
  PV_LOOP_RAISED, /* an exception is set, with this frame in its traceback: on its way to a handler around the loop */
  PV_FRAME_ENDED, /* the frame is gone */
} PvLoopEnd;

typedef struct {
  int unit;       /* of the FOR_ITER; after LEFT and RAISED that of the instruction */
  int depth;      /* values on the stack, the iterator is the last */
  int is_handled; /* whether there is a handler around the loop: around its FOR_ITER, as around all of it */
} PvLoop;

/* The frame is entered and linked, and no generator's. Afterwards it is entered, and not linked; if it has ended,
   *result is its result. Where the iterator is gone, the values below it are on the stack. */
PvLoopEnd pv_lend_loop(PyThreadState* ts, PvFrame* frame, PvLoop* loop, PyObject** result);

#ifdef __cplusplus
}
#endif
