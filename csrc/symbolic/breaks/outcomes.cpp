#include "symbolic/breaks/outcomes.h"

#include "symbolic/values/call_args.h"

namespace md {

void graph_break(BreakReason reason, std::string context, std::string explanation) {
  throw BreakSignal{reason, std::move(context), std::move(explanation)};
}

void leave_frame(BreakReason reason, std::string context) {
  throw BreakSignal{reason, std::move(context), "", /*leaves_frame=*/true};
}

void raise_here(std::string why) {
  // An error met while tracing is raised again by the interpreter, at its own place.
  if (PyObject* type = PyErr_Occurred(); type != nullptr && why.empty())
    why = reinterpret_cast<PyTypeObject*>(type)->tp_name;
  PyErr_Clear();
  throw RaiseSignal{nullptr, std::move(why)};
}

void require_count(const CallArgs& args, size_t least, size_t most) {
  if (args.positional.size() < least || args.positional.size() > most || !args.keywords.empty()) raise_here();
}

void require_method_count(const CallArgs& args, size_t least, size_t most) { require_count(args, least + 1, most + 1); }

}  // namespace md
