// Ways for a handler to leave its instruction early.
#pragma once
#include <string>

#include "symbolic/breaks/graph_break.h"
#include "symbolic/values/value.h"

namespace md {

struct CallArgs;

// Ends the trace at the current instruction of the innermost frame.
struct BreakSignal {
  BreakReason reason;
  std::string context;
  std::string explanation;
  bool leaves_frame = false;  // nothing of the frame is captured
};
struct RaiseSignal {
  ValuePtr exception;  // null: known to the interpreter only
  std::string why{};   // of such an exception, for developers; may be empty
};
// Restarts the trace: a tensor that was read from several sources is written, so all of them have to be one value.
struct SharedTensorSignal {};

[[noreturn]] void graph_break(BreakReason reason, std::string context = "", std::string explanation = "");
// Leaves the outermost frame of the trace, from where it stands, to the interpreter: one break, however many follow.
[[noreturn]] void leave_frame(BreakReason reason, std::string context);
// The instruction raises in eager Python: leaves it to the interpreter. If it does not raise there, that is a break.
[[noreturn]] void raise_here(std::string why = "");
// Requires between `least` and `most` positional arguments (after self, for a method) and no keywords; raises here
// otherwise.
void require_count(const CallArgs& args, size_t least, size_t most);
void require_method_count(const CallArgs& args, size_t least, size_t most);

}  // namespace md
