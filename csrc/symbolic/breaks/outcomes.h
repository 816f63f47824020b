// How a handler leaves its instruction before the end.
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
};
struct RaiseSignal {
  ValuePtr exception;  // null: only Python knows which
};

[[noreturn]] void graph_break(BreakReason reason, std::string context = "", std::string explanation = "");
// The instruction raises in plain Python: it is left to Python.
[[noreturn]] void raise_here();
// So many positional arguments, and no keywords; else it raises here. Of a method: so many after self.
void require_count(const CallArgs& args, size_t least, size_t most);
void require_method_count(const CallArgs& args, size_t least, size_t most);

}  // namespace md
