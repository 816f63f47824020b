// Loops that the evaluator runs for the driver, which goes on behind them: cpython/lent_loop.h.
#pragma once
#include "eval_frame/concrete.h"

namespace md {

// At a FOR_ITER: as step(), for the whole loop where it can be lent. If the frame ends in it, the frame is gone
// (entered() is false), and *result is its result.
StepResult step_loop(LiveFrame& frame, PyObject** result);

}  // namespace md
