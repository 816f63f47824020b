// How a materialised caller uses the result of the frame that it waited for: the rows of continuations.def.
#pragma once
#include "eval_frame/live_frame.h"
#include "snapshot/snapshot.h"

namespace md {

// The caller, entered, at the instruction of its call.
struct WaitingCall {
  LiveFrame& frame;
  const Instruction& at;
  const Ref& value;  // continuation_value of the inner frame's state
  int next;          // the instruction to go on with
};

// False: an exception is set.
bool take_result(ContinuationKind kind, WaitingCall& call, Ref result);

}  // namespace md
